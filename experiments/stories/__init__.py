"""Stories: what happened to a job, and why, in plain sentences; :func:`experiments.stories.story.explain` tells one."""
