"""Slurm parameters classified by their effect on a simulation: those that decide when jobs start, and harmless ones.

A parameter is harmless only if it is listed here; any other one is reported. Sources: slurm.conf and scontrol of Slurm
22.05 and 24.05 (slurm.schedmd.com).
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "AFFECTING",
    "HARMLESS",
    "HARMLESS_OF_NODES",
    "HARMLESS_OF_PARTITIONS",
    "HARMLESS_SCHEDULING",
    "NODE_KINDS",
    "PARTITION_LIMITS",
    "SCHEDULING",
]

_NAMES = """
accountingstoragebackuphost accountingstorageexternalhost accountingstoragehost accountingstorageparameters
accountingstoragepass accountingstorageport accountingstoragetres accountingstoragetype accountingstorageuser
accountingstoreflags accountingstorejobcomment acctgatherenergytype acctgatherfilesystemtype
acctgatherinterconnecttype acctgathernodefreq acctgatherprofiletype allowspecresourcesusage authalttypes
authaltparameters authinfo authtype backupaddr backupcontroller batchstarttimeout bcastexclude bcastparameters
boot_time certgenparameters certgentype certmgrparameters certmgrtype checkpointtype clifilterparameters
clifilterplugins clustername
communicationparameters controladdr controlmachine corespecplugin cpufreqdef cpufreqgovernors credtype cryptotype
dataparserparameters debugflags defaultstoragehost defaultstorageloc defaultstoragepass
defaultstorageport defaultstoragetype defaultstorageuser dependencyparameters disablerootjobs eiotimeout
enforcepartlimits epilogmsgtime extsensorsfreq
extsensorstype fastschedule firstjobid frontendname getenvtimeout gpufreqdef groupupdateforce groupupdatetime
hash_val hashplugin healthcheckinterval healthchecknodestate healthcheckprogram inactivelimit interactivestepoptions
jobacctgatherfrequency jobacctgatherparams jobacctgathertype jobcheckpointdir jobcompextra jobcomphost jobcomploc
jobcompparams jobcomppass
jobcomppassscript jobcompport jobcomptype jobcompuser jobcontainerplugin jobcontainertype jobcredentialprivatekey
jobcredentialpubliccertificate jobfileappend jobrequeue keepalivetime killonbadexit killwait
launchparameters launchtype logtimeformat maildomain mailprog maxarraysize maxbatchrequeue maxdbdmsgs maxjobcount
maxjobid maxnodecount maxstepcount maxtaskspernode messagetimeout metricstype minjobage mpidefault mpiparams
multiple_slurmd namespacetype next_job_id nodeset plugindir
plugstackconfig powerparameters powerplugin prepparameters prepplugins privatedata proctracktype
prologepilogtimeout prologflags propagateprioprocess propagateresourcelimits propagateresourcelimitsexcept
reconfigflags rebootprogram requeueexit requeueexithold resumefailprogram resvepilog resvprolog returntoservice
routeplugin sallocdefaultcommand sbcastparameters schedulerlogfile schedulertimeslice schedulerport
schedulerrootfilter scronparameters
slurm_conf slurm_version slurmctldaddr slurmctlddebug slurmctldhost slurmctldlogfile slurmctldparameters
slurmctldpidfile slurmctldplugstack slurmctldport slurmctldprimaryoffprog slurmctldprimaryonprog
slurmctldsyslogdebug slurmctldtimeout slurmddebug slurmdlogfile slurmdparameters slurmdpidfile slurmdport
slurmdspooldir slurmdsyslogdebug slurmdtimeout slurmduser slurmschedlogfile slurmschedloglevel slurmuser srunepilog
srunportrange srunprolog statesavelocation suspendexcnodes suspendexcparts suspendexcstates switchname
switchparameters switchtype
taskepilog taskplugin taskpluginparam taskprolog tcptimeout tlsparameters tlstype tmpfs topologyparam
trackwckey treewidth
unkillablestepprogram unkillablesteptimeout urlparser usepam vsizefactor waittime x11parameters
allowedramspace allowedswapspace allowedkmemspace cgroupautomount cgroupmountpoint cgroupplugin cgroupreleaseagentdir
constraincores constraindevices constrainkmemspace constrainramspace constrainswapspace enablecontrollers
enableextracontrollers ignoresystemd ignoresystemdonfailure maxkmempercent maxrampercent maxswappercent
memoryswappiness minkmemspace minramspace signalchildrenprocesses systemdtimeout taskaffinity
"""
#: Parameters that do not affect the starts of a log's jobs.
HARMLESS = frozenset(_NAMES.split())

#: Parameters that affect starts: their values without effect, and why the simulation ignores them.
AFFECTING: Mapping[str, tuple[tuple[str, ...], str]] = {
    "accountingstorageenforce": (
        ("associations", "nosteps", "nojobs", "wckeys", "0", "no"),
        "limits of associations and QOS are in Slurm's database, and not modelled",
    ),
    "burstbuffertype": ((), "the time of staging data is not modelled"),
    "completewait": (("0", "0 sec"), "nodes of a job that ended are free at once"),
    "defcpupergpu": (("0",), "jobs need nodes, not GPUs"),
    "defmempercpu": (("unlimited", "0"), "jobs need nodes, not memory"),
    "defmempergpu": (("unlimited", "0"), "jobs need nodes, not memory"),
    "defmempernode": (("unlimited", "0"), "jobs need nodes, not memory"),
    "downnodes": ((), "all nodes are up; --outages takes some away"),
    "epilog": ((), "nodes of a job that ended are free at once"),
    "epilogslurmctld": ((), "nodes of a job that ended are free at once"),
    "federationparameters": ((), "jobs go to this cluster alone"),
    "grestypes": ((), "jobs need nodes, not GPUs or other generic resources"),
    "include": ((), "the file that it names is not read; give it as a further argument"),
    "jobdefaults": ((), "jobs need nodes, not memory or GPUs"),
    "jobsubmitplugins": ((), "jobs are as the log has them, and not changed at their submission"),
    "licenses": ((), "jobs use no licenses"),
    "maxmempercpu": (("unlimited", "0"), "jobs need nodes, not memory"),
    "maxmempernode": (("unlimited", "0"), "jobs need nodes, not memory"),
    "mcsparameters": ((), "nodes have no security labels"),
    "mcsplugin": (("mcs/none",), "nodes have no security labels"),
    "nodefeaturesplugins": ((), "nodes have no features, and do not reboot for them"),
    "overtimelimit": (("0", "0 min"), "jobs end at their limits"),
    "preemptexempttime": (("00:00:00", "0", "-1"), "only on-demand jobs preempt others"),
    "preemptmode": (("off",), "only on-demand jobs preempt others, and jobs never take turns"),
    "preemptparameters": ((), "only on-demand jobs preempt others"),
    "preempttype": (("preempt/none",), "only on-demand jobs preempt others"),
    "priorityflags": ((), "priorities are as the order says"),
    "priorityparameters": ((), "priorities are as the order says"),
    "prioritysitefactorparameters": ((), "priorities have no factor of the site"),
    "prioritysitefactorplugin": ((), "priorities have no factor of the site"),
    "priorityusageresetperiod": ((), "usage only decays"),
    "prolog": ((), "a job runs from the time at which it gets its nodes"),
    "prologslurmctld": ((), "a job runs from the time at which it gets its nodes"),
    "resumeprogram": ((), "nodes are never powered down"),
    "resumerate": (("300 nodes/min", "300"), "nodes are never powered down"),
    "resumetimeout": (("60 sec", "60"), "nodes are never powered down"),
    "resvoverrun": (("0", "0 min"), "reservations end when they should"),
    "selecttype": (
        ("select/linear",),
        "each job has whole nodes; --unit processors counts processors of one pool instead",
    ),
    "selecttypeparameters": (
        ("cr_core_default_dist_block", "other_cons_res", "other_cons_tres"),
        "cores and memory are not allocated, and nodes are alike",
    ),
    "suspendprogram": ((), "nodes are never powered down"),
    "suspendrate": (("60 nodes/min", "60"), "nodes are never powered down"),
    "suspendtime": (("infinite", "-1", "none"), "nodes are never powered down"),
    "suspendtimeout": (("30 sec", "30"), "nodes are never powered down"),
    "topologyplugin": (("topology/none", "topology/default", "topology/flat"), "nodes are alike wherever they are"),
}

#: Settings of SchedulerParameters that affect starts, and why the simulation ignores them.
SCHEDULING: Mapping[str, str] = {
    **dict.fromkeys(
        ("bf_yield_interval", "bf_yield_sleep", "bf_yield_rpc_cnt", "bf_max_time", "max_sched_time", "max_rpc_cnt"),
        "a pass takes no time",
    ),
    **dict.fromkeys(
        ("bf_interval", "sched_interval", "sched_min_interval"), "passes are at events, and not at intervals"
    ),
    **dict.fromkeys(("batch_sched_delay", "defer", "defer_batch"), "passes are at events, at once"),
    **dict.fromkeys(("default_queue_depth", "partition_job_depth"), "the whole queue is looked at"),
    **dict.fromkeys(
        ("bf_one_resv_per_job", "bf_hetjob_immediate", "bf_hetjob_prio", "enable_hetero_jobs"),
        "a job waits for one partition, and has one component",
    ),
    **dict.fromkeys(("bf_licenses", "allow_zero_lic", "bf_allow_magnetic_resv"), "jobs use no licenses and features"),
    **dict.fromkeys(
        ("preempt_reorder_count", "preempt_strict_order", "preempt_youngest_first", "preempt_send_user_signal",
         "reclaim"),
        "only on-demand jobs preempt others",
    ),
    **dict.fromkeys(
        ("pack_serial_at_end", "spec_cores_first", "ignore_numa", "bf_topopt_enable", "bf_topopt_iterations",
         "max_switch_wait"),
        "nodes are alike wherever they are",
    ),
    **dict.fromkeys(("disable_hetjob_steps", "delay_boot"), "nodes are up"),
    "assoc_limit_stop": "associations have no limits",
    "assoc_limit_continue": "associations have no limits",
    "bf_continue": "a pass sees one state of the machine",
    "bf_ignore_newly_avail_nodes": "a pass sees one state of the machine",
    "bf_max_job_array_resv": "each task of an array may hold a reservation",
    "bf_max_job_assoc": "no limit for an account",
    "bf_max_job_part": "no limit for a partition",
    "bf_max_job_start": "no limit of starts in a pass",
    "bf_max_job_user_part": "no limit of a user in a partition",
    "bf_min_age_reserve": "each waiting job may hold a reservation at once",
    "bf_min_prio_reserve": "each waiting job may hold a reservation",
    "bf_node_space_size": "the plan has room for all jobs",
    "bf_running_job_reserve": "reservations are for waiting jobs",
    "bf_window_linear": "the precision of ends doubles at each step",
    "fair_tree": "accounts have no ranks",
    "gs_config_check": "jobs never take turns",
    "nohold_on_prolog_fail": "no job fails before it starts",
    "reduce_completing_frag": "nodes of a job that ended are free at once",
    "sched_max_job_start": "no limit of starts in a pass",
    "time_min_as_soft_limit": "jobs have one limit",
    "whole_hetjob": "a job has one component",
}  # fmt: skip
#: Settings of SchedulerParameters that do not affect the starts of a log's jobs.
HARMLESS_SCHEDULING = frozenset(
    (
        *("build_queue_timeout", "correspond_after_task_cnt", "default_gbytes", "disable_job_shrink"),
        *(
            "disable_user_top",
            "enable_job_state_cache",
            "getjobs_limit",
            "inventory_interval",
            "jobs_per_user_per_hour",
            "kill_invalid_depend",
        ),
        *("max_array_tasks", "max_depend_depth", "max_script_size", "max_submit_line_size", "no_backup_scheduling"),
        *("no_env_cache", "permit_job_expansion", "requeue_setup_env_fail", "salloc_wait_nodes", "sbatch_wait_nodes"),
        *("step_retry_count", "step_retry_time", "user_resv_delete"),
    )
)

#: Keywords of a node line by which nodes differ, with their names.
NODE_KINDS: Mapping[str, tuple[str, ...]] = {
    "CPUs": ("cpus", "cputot", "procs"),
    "memory": ("realmemory",),
    "GPUs": ("gres",),
    "features": ("features", "feature", "availablefeatures"),
    "weight": ("weight",),
}
_OF_NODES = """
nodename activefeatures allocmem alloctres arch avewatts bcastaddr boards boottime bootthreads capwatts cfgtres comment
corespersocket corespeccount cpualloc cpubind cpuefctv cpuload cpuspeclist currentwatts dynamicnorm dynamic_norm
externalsensorsjoules extra extsensorsjoules extsensorstemp extsensorswatts freemem gresdrain gresused instanceid
instancetype lastbusytime mcs_label memspeclimit
nextstate nodeaddr nodehostname os owner parameters partitions port reason resumeaftertime resvname restrictcoresspergpu
slurmdstarttime sockets socketsperboard state threadspercore tmpdisk topology version certtoken
"""
#: Keywords of a node line that do not affect starts, or that are handled separately.
HARMLESS_OF_NODES = frozenset((*_OF_NODES.split(), *(name for names in NODE_KINDS.values() for name in names)))

#: Keywords of a partition line that affect starts: spelling, values without effect, why they are ignored.
PARTITION_LIMITS: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "maxtime": ("MaxTime", ("unlimited", "infinite", "-1"), "walltimes are as the log has them, without a limit"),
    "maxnodes": ("MaxNodes", ("unlimited", "infinite", "-1"), "sizes are as the log has them, without a limit"),
    "minnodes": ("MinNodes", ("0", "1"), "sizes are as the log has them, without a limit"),
    "prioritytier": ("PriorityTier", ("1",), "no partition goes before another one"),
    "priorityjobfactor": ("PriorityJobFactor", ("1",), "partitions have no priority of their own"),
    "priority": ("Priority", ("1",), "no partition goes before another one"),
    "qos": ("QOS", (), "limits of a QOS are in Slurm's database, and not modelled"),
    "oversubscribe": ("OverSubscribe", ("no", "exclusive"), "nodes have one job at a time"),
    "shared": ("Shared", ("no", "exclusive"), "nodes have one job at a time"),
    "exclusiveuser": ("ExclusiveUser", ("no",), "users do not have nodes for themselves"),
    "exclusivetopo": ("ExclusiveTopo", ("no",), "nodes are alike wherever they are"),
    "lln": ("LLN", ("no",), "nodes are alike"),
    "maxcpuspernode": ("MaxCPUsPerNode", ("unlimited", "infinite"), "each job has whole nodes"),
    "maxcpuspersocket": ("MaxCPUsPerSocket", ("unlimited", "infinite"), "each job has whole nodes"),
    "defmempernode": ("DefMemPerNode", ("unlimited", "0"), "jobs need nodes, not memory"),
    "defmempercpu": ("DefMemPerCPU", ("unlimited", "0"), "jobs need nodes, not memory"),
    "defmempergpu": ("DefMemPerGPU", ("unlimited", "0"), "jobs need nodes, not memory"),
    "maxmempernode": ("MaxMemPerNode", ("unlimited", "0"), "jobs need nodes, not memory"),
    "maxmempercpu": ("MaxMemPerCPU", ("unlimited", "0"), "jobs need nodes, not memory"),
    "defcpupergpu": ("DefCpuPerGPU", ("0",), "jobs need nodes, not GPUs"),
    "jobdefaults": ("JobDefaults", (), "jobs need nodes, not memory or GPUs"),
    "preemptmode": ("PreemptMode", ("off",), "only on-demand jobs preempt others"),
    "gracetime": ("GraceTime", ("0",), "only on-demand jobs preempt others"),
    "overtimelimit": ("OverTimeLimit", ("0",), "jobs end at their limits"),
    "reqresv": ("ReqResv", ("no",), "jobs need no reservation"),
    "selecttypeparameters": ("SelectTypeParameters", (), "nodes are alike"),
    "state": ("State", ("up",), "all partitions are up"),
    "suspendtime": ("SuspendTime", ("infinite", "-1"), "nodes are never powered down"),
    "powerdownonidle": ("PowerDownOnIdle", ("no",), "nodes are never powered down"),
    "tresbillingweights": ("TRESBillingWeights", (), "usage counts nodes"),
}
_OF_PARTITIONS = """
partitionname nodes nodesets default defaulttime allowaccounts allowgroups allowqos allocnodes alternate cpubind
denyaccounts denyqos disablerootjobs hidden rootonly totalcpus totalnodes tres resumetimeout suspendtimeout
maxcpuspernode topology
"""
#: Keywords of a partition line that do not affect the starts of a log's jobs.
HARMLESS_OF_PARTITIONS = frozenset(_OF_PARTITIONS.split())
