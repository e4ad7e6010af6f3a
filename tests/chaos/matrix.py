"""Which test puts which fault to which part, or why the two have nothing to do with each other."""

from __future__ import annotations

KILL, STOP, FULL = "kill -9", "SIGSTOP", "full disk"
READ_ONLY, EIO, CLOCK = "read-only", "EIO", "clock jump"
PID, SHARED = "PID reuse", "two machines"
FAULTS = (KILL, STOP, FULL, READ_ONLY, EIO, CLOCK, PID, SHARED)
# How a case that injects a fault has it among its parameters.
INJECTED = {KILL: "signal=SIGKILL", FULL: "error=ENOSPC", EIO: "error=EIO"}

ANY_STEP = "test_a_fault_at_any_step"
NO_PID = "no pid is kept: who is at work holds a lock that the kernel frees"
# The module of each part, and for each fault tests in it, or else a reason.
MATRIX = {
    "sync": ("test_history_sync", {
        KILL: (ANY_STEP,),
        STOP: (
            "test_a_stopped_sync_holds_up_no_reader_and_no_later_sync",
            "test_a_sync_that_stays_stopped_is_named_instead_of_waited_for",
        ),
        FULL: (ANY_STEP, "test_a_full_disk", "test_files_that_may_not_grow"),
        READ_ONLY: (
            "test_a_read_only_disk_is_still_searched",
            "test_a_read_only_directory_is_still_searched",
            "test_a_server_that_may_only_read_sees_what_others_sync",
        ),
        EIO: (ANY_STEP, "test_the_command_tells_a_fault_in_words"),
        CLOCK: ("test_the_clock_jumps_between_syncs",),
        PID: NO_PID,
        SHARED: ("test_two_machines_sync_one_index",),
    }),
    "spec writes": ("test_spec_writes", {
        KILL: (
            "test_a_fault_at_any_step_of_a_write",
            "test_a_killed_write_of_a_new_spec_leaves_nothing",
            "test_what_a_killed_write_leaves_hinders_nobody",
            "test_archiving_is_killed_at_any_step",
        ),
        STOP: (
            "test_a_writer_that_is_stopped_holds_up_nobody_else",
            "test_a_stopped_writer_that_is_killed_frees_its_spec",
            "test_a_writer_that_stays_stopped_is_named_instead_of_waited_for",
        ),
        FULL: (
            "test_a_fault_at_any_step_of_a_write",
            "test_a_full_disk_refuses_and_loses_nothing",
            "test_files_that_may_not_grow",
        ),
        READ_ONLY: ("test_a_read_only_disk_is_still_read",),
        EIO: ("test_a_fault_at_any_step_of_a_write",),
        CLOCK: ("test_the_clock_jumps",),
        PID: "no pid is kept: only a refusal names one, which the kernel told at that moment",
        SHARED: ("test_two_machines_share_a_checkout",),
    }),
    "runs": ("test_runs", {
        KILL: ("test_a_fault_at_any_step_of_starter_supervisor_or_agent",),
        STOP: (
            "test_a_stopped_supervisor_is_no_orphan_and_can_be_killed",
            "test_a_stopped_agent_can_be_cancelled",
        ),
        FULL: ("test_the_disk_is_full_from_the_start_or_from_the_middle_on",),
        READ_ONLY: ("test_the_disk_is_read_only_from_the_start_or_from_the_middle_on",),
        EIO: ("test_a_fault_at_any_step_of_starter_supervisor_or_agent",),
        CLOCK: ("test_the_clock_jumps",),
        PID: ("test_forged_owners_neither_hold_a_spec_nor_get_innocents_killed",),
        SHARED: ("test_a_run_of_another_machine_is_left_alone_while_it_holds_its_lock",),
    }),
    "watch": ("test_watch", {
        KILL: (
            "test_a_killed_watch_is_replaced",
            "test_a_watch_that_is_killed_while_it_merges_loses_nothing",
            "test_a_fault_at_any_step_of_a_look",
        ),
        STOP: ("test_a_stopped_watch_is_still_the_one_watch_and_can_be_ended",),
        FULL: (
            "test_a_full_disk_does_not_end_the_watch",
            "test_a_fault_at_any_step_of_a_look",
        ),
        READ_ONLY: ("test_a_read_only_disk_is_told_and_does_not_end_the_watch",),
        EIO: ("test_a_fault_at_any_step_of_a_look",),
        CLOCK: ("test_the_clock_jumps_while_it_watches",),
        PID: (
            "test_the_pid_of_an_innocent_process_is_never_signalled",
            "test_a_watch_that_runs_elsewhere_is_told_and_no_innocent_is_signalled",
        ),
        SHARED: ("test_of_two_machines_that_share_a_checkout_one_watches",),
    }),
    "merge queue": ("test_merge_queue", {
        KILL: (ANY_STEP, "test_what_a_killed_write_of_a_spec_left_is_never_merged"),
        STOP: (
            "test_a_stopped_merger_is_waited_for_and_a_killed_one_is_not",
            "test_a_merger_that_stays_stopped_is_named_instead_of_waited_for",
        ),
        FULL: (ANY_STEP, "test_a_full_disk"),
        READ_ONLY: ("test_a_read_only_disk",),
        EIO: (ANY_STEP,),
        CLOCK: ("test_the_clock_jumps_back_in_the_middle",),
        PID: NO_PID,
        SHARED: ("test_two_machines_merge_into_one_checkout",),
    }),
    "conversations": ("test_conversations", {
        KILL: (ANY_STEP, "test_a_speaker_that_is_killed_in_a_transaction_holds_up_nobody"),
        STOP: (
            "test_a_speaker_that_stays_stopped_is_named_instead_of_waited_for",
            "test_a_speaker_that_stays_stopped_in_a_transaction_is_told",
        ),
        FULL: (ANY_STEP, "test_a_full_and_a_read_only_disk"),
        READ_ONLY: ("test_a_full_and_a_read_only_disk",),
        EIO: (ANY_STEP,),
        CLOCK: ("test_the_clock_jumps",),
        PID: NO_PID,
        SHARED: ("test_many_speakers_from_two_machines_with_one_home",),
    }),
    "HTTP server": ("test_http_server", {
        KILL: ("test_killed_and_started_again_with_the_same_token",),
        STOP: ("test_stopped_and_continued",),
        FULL: ("test_a_full_disk_under_its_home",),
        READ_ONLY: (
            "test_a_home_that_becomes_read_only",
            "test_a_home_that_cannot_be_written_is_told",
        ),
        EIO: ("test_errors_of_its_disk",),
        CLOCK: ("test_the_clock_jumps_while_it_serves",),
        PID: ("test_two_servers_of_the_same_number_share_a_home",),
        SHARED: ("test_two_servers_of_the_same_number_share_a_home",),
    }),
}  # fmt: skip

# What no pair says: neighbours and other programs.
BESIDE = {
    "git's children": ("test_git_children", (
        "test_a_clone_ends_with_the_command_that_asked_for_it",
        "test_readers_of_history_end_with_the_process_that_reads",
    )),
    "two watches": ("test_watch", ("test_of_two_machines_that_share_a_checkout_one_watches",)),
    "two merge queues": ("test_merge_queue", ("test_two_machines_merge_into_one_checkout",)),
    "deleted logs": ("test_neighbours", (
        "test_the_log_of_an_index_is_deleted",
        "test_the_log_of_a_journal_is_deleted",
        "test_conversations_go_on_after_kills_and_deleted_logs",
    )),
    "merge killed from outside": ("test_neighbours", ("test_a_merge_is_killed_from_outside",)),
    "work killed from outside": ("test_outside", ("test_work_is_killed_from_outside",)),
    "turn killed from outside": ("test_outside", ("test_a_conversation_is_killed_from_outside",)),
    "alternates": ("test_neighbours", (
        "test_objects_that_another_repository_lends_go_away_and_come_back",
    )),
    "grafts": ("test_neighbours", ("test_grafts_and_replacements_come_and_go",)),
    "programs gone": ("test_neighbours", ("test_commits_go_on_after_clew_was_uninstalled",)),
    "uninstalled by pip": ("test_outside", ("test_a_real_uninstall_leaves_what_was_there_before",)),
    "the original commitmux": ("test_original", (
        "test_its_file_is_left_as_it_is_and_can_be_moved_away",
        "test_it_changes_nothing_in_ours",
        "test_both_begin_the_same_file_at_once",
        "test_both_go_on_while_the_other_one_tries",
    )),
    "a team's parts": ("test_team", (
        "test_whatever_fails_nothing_is_lost_and_nothing_runs_twice",
    )),
    "locks of a cut host": ("test_cut_hosts", (
        "test_a_lock_does_not_outlive_the_network_of_its_host",
        "test_the_server_looks_after_its_peers_too",
    )),
    "three doors": ("test_neighbours", ("test_board_terminal_and_tools_write_at_once",)),
}  # fmt: skip


def lines(outcomes):
    """The matrix with the outcome of each pair; `outcomes` are those of cases by their place.

    A place is a module and a test, an outcome has the case's parameters before it.
    """
    widths = {fault: len(fault) for fault in FAULTS}
    yield " " * 15 + "  ".join(FAULTS)
    reasons = []
    for area, (module, pairs) in MATRIX.items():
        words = []
        for fault in FAULTS:
            tests = pairs[fault]
            if isinstance(tests, str):
                reasons.append(f"{area}, {fault}: {tests}")
                words.append("-".rjust(widths[fault]))
            else:
                cases = [case for test in tests for case in outcomes.get((module, test), ())]
                found = [outcome for given, outcome in cases if _is_about(fault, given)]
                words.append(_word(found).rjust(widths[fault]))
        yield f"{area:13}  " + "  ".join(words)
    yield from (f"  - {reason}" for reason in reasons)
    for what, (module, tests) in BESIDE.items():
        found = [outcome for test in tests for _, outcome in outcomes.get((module, test), ())]
        yield f"{what:25}  {_word(found)}"


def _is_about(fault, parameters):
    """Whether a case is one of this fault; most tests have but one."""
    injected = [name for name, word in INJECTED.items() if word in parameters]
    return fault in injected or not injected


def _word(outcomes):
    """How many cases passed, unless something else matters more."""
    if "failed" in outcomes:
        return "FAILED"
    passed = outcomes.count("passed")
    return str(passed) if passed else "skipped" if outcomes else "."
