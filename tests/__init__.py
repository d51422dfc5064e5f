"""Tests of Holdfast."""
