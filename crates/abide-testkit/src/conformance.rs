//! What every store must do, one case per sentence of the rules in [`abide::store::Store`].
//!
//! ```
//! use std::sync::Arc;
//! use abide_testkit::{ManualClock, MemoryStore};
//!
//! async fn fresh(clock: ManualClock) -> MemoryStore {
//!     MemoryStore::new(Arc::new(clock))
//! }
//! abide_testkit::store_conformance!(fresh);
//! ```
//!
//! A case does not assume that hints are sent, or a release is done, before the call is answered. It
//! does assume that both are before a later write is answered.

#![allow(missing_docs, reason = "the name of a case is the sentence that it checks")]

use std::future::Future;
use std::sync::Arc;

use abide::Timestamp;
use abide::store::Store;

use crate::{Lab, ManualClock};

pub mod arrival;
pub mod buffer;
pub mod child;
pub mod chunk;
pub mod claim;
pub mod closing;
pub mod commit;
pub mod continued;
pub mod count;
pub mod deadline;
pub mod deliver;
pub mod document;
pub mod due;
pub mod edit;
pub mod figures;
pub mod filter;
pub mod hint;
pub mod history;
pub mod letting_go;
pub mod listing;
pub mod log;
pub mod lookback;
pub mod output;
pub mod pause;
pub mod prune;
pub mod publish;
pub mod publishing;
pub mod quiet;
pub mod race;
pub mod reach;
pub mod restart;
pub mod runnable;
pub mod send;
pub mod start;
pub mod tail;
pub mod take;
pub mod terminate;
pub mod trace;
pub mod trigger;
pub mod undo;
pub mod window;

/// Runs one case on a fresh store, on a runtime of its own.
pub fn check<S, F>(fresh: impl FnOnce(ManualClock) -> F, case: impl AsyncFnOnce(&Lab))
where
    S: Store,
    F: Future<Output = S>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let clock = ManualClock::at(Timestamp(1_700_000_000_000));
        let store = Arc::new(fresh(clock.clone()).await);
        case(&Lab::new(store, clock).await).await;
    });
}

/// Checks a store against the whole suite, one test per case in a module `conformance`. Takes the
/// path of an async function that makes an empty store with a clock.
#[macro_export]
macro_rules! store_conformance {
    ($fresh:path) => {
        mod conformance {
            use super::*;
            $crate::store_conformance!(@start $fresh:
                what_begins_now_is_running_and_claimed, what_was_given_reads_back_equal,
                a_batch_is_answered_in_order_with_rising_keys,
                a_batch_of_nothing_is_answered_with_nothing,
                an_id_that_exists_refuses_the_whole_batch,
                the_id_of_an_ended_instance_is_still_taken,
                an_id_that_comes_twice_refuses_the_whole_batch,
                asked_to_return_it_answers_the_existing_and_starts_the_rest,
                asked_to_return_it_answers_an_id_that_comes_twice_with_the_first,
                what_begins_later_is_queued_and_nobodys, a_start_that_is_not_later_begins_now,
                the_timeout_counts_from_acceptance_or_start,
                the_first_transition_applies_behind_workflow_started,
                an_end_in_the_first_transition_ends_it, a_first_transition_may_pause_or_continue,
                every_instance_of_a_batch_has_a_claim_of_its_own
            );
            $crate::store_conformance!(@commit $fresh:
                everything_in_a_transition_is_stored_at_once,
                entries_are_numbered_without_gap_across_commits,
                marks_have_no_number_and_are_not_shown,
                parking_again_replaces_the_wake_up_and_the_reason,
                what_a_transition_leaves_out_stays, children_come_after_the_park_and_before_the_end,
                an_instance_that_pauses_itself_keeps_its_claim, an_end_is_shown_with_its_result,
                a_failure_is_shown_with_its_error,
                every_stored_commit_is_something_that_happened, an_older_or_made_up_claim_is_fenced,
                the_claim_of_another_instance_is_fenced, another_run_is_fenced,
                after_the_end_everything_is_fenced,
                a_fenced_commit_starts_no_child_and_tells_nobody,
                what_finishes_during_a_pause_is_stored
            );
            $crate::store_conformance!(@claim $fresh:
                every_claim_is_higher_and_fences_the_one_before,
                what_is_gone_ended_or_paused_cannot_be_claimed,
                what_is_parked_or_queued_can_be_claimed,
                a_claim_reads_the_instance_and_its_current_run_with_marks,
                attaching_voids_every_claim, only_the_last_one_attached_hears,
                a_released_instance_is_nobodys,
                releasing_another_claim_than_the_present_one_changes_nothing
            );
            $crate::store_conformance!(@child $fresh:
                a_child_begins_running_unclaimed_and_tied_to_its_parent,
                children_begin_in_the_order_they_were_asked_for,
                a_detached_child_arrives_as_completed_at_once,
                a_child_whose_id_is_taken_arrives_as_refused,
                a_refused_child_does_not_stop_the_next_one, an_instance_cannot_be_its_own_child
            );
            $crate::store_conformance!(@arrival $fresh:
                the_result_of_a_child_wakes_its_parent, the_failure_of_a_child_wakes_its_parent,
                the_termination_of_a_child_wakes_its_parent,
                a_parent_nobody_runs_is_runnable_after_an_arrival,
                a_parent_that_runs_keeps_its_wake_up, a_queued_parent_stays_queued,
                a_paused_parent_is_told_underneath_its_pause, an_ended_parent_is_told_nothing,
                a_parent_in_another_run_is_told_nothing, a_pruned_parent_is_told_nothing,
                a_parent_is_told_once, a_child_restarted_before_its_end_still_tells_its_parent,
                a_restarted_parent_is_told_of_the_children_of_its_new_run,
                the_end_of_a_detached_child_is_told_to_nobody,
                a_rest_decided_before_an_arrival_was_heard_is_left_out
            );
            $crate::store_conformance!(@deliver $fresh:
                an_instance_that_is_not_there_is_refused,
                the_same_id_again_is_answered_as_the_first_time,
                the_same_id_to_another_instance_is_another_delivery, what_has_ended_takes_nothing,
                an_ignored_delivery_leaves_no_trace,
                what_is_not_acceptable_is_refused_and_stores_nothing,
                what_is_not_acceptable_expires_no_wait,
                an_event_meets_every_wait_that_hears_it_in_one_row,
                a_wait_gets_the_event_with_its_own_payload,
                a_signal_and_a_message_meet_the_oldest_wait_only,
                events_signals_and_messages_never_meet, patterns_are_of_events_only,
                a_wait_past_its_deadline_expires_before_something_is_accepted,
                what_is_buffered_while_a_wait_expires_arrives_as_far_as_the_wait,
                a_paused_instance_is_met_underneath_its_pause,
                what_has_not_begun_keeps_it_for_later, what_arrives_is_to_be_heard_before_a_rest,
                payloads_that_look_empty_stay_apart
            );
            $crate::store_conformance!(@buffer $fresh:
                the_latest_of_its_type_replaces_the_one_before, a_queue_keeps_all_in_order,
                what_nobody_wants_kept_is_dropped_but_remembered, it_is_listed_as_it_was_sent,
                it_is_full_by_entries, it_is_full_by_bytes,
                without_waking_it_is_kept_although_a_wait_is_open,
                until_its_time_it_meets_no_wait_and_replaces_nothing,
                a_parked_instance_is_woken_for_what_comes_later,
                its_order_is_that_of_visible_time_then_acceptance,
                kinds_of_the_same_name_are_kept_apart,
                a_full_buffer_takes_a_newer_one_in_place_of_an_older
            );
            $crate::store_conformance!(@reach $fresh:
                what_nothing_meets_is_registered, what_came_early_is_met_at_once,
                one_early_event_serves_all_waits_of_the_commit,
                an_early_event_serves_the_waits_of_one_commit_only,
                early_signals_and_messages_serve_the_first_in_call_order, they_arrive_in_call_order,
                each_wait_takes_the_first_that_it_hears, a_deadline_already_past_expires_at_once,
                what_is_there_counts_although_the_deadline_is_past,
                the_first_transition_of_a_start_reaches_waits_too, a_fenced_commit_reaches_nothing,
                a_parked_instance_is_woken_at_the_deadline_of_its_wait,
                waits_are_listed_by_whatever_is_given
            );
            $crate::store_conformance!(@deadline $fresh:
                a_wait_past_its_deadline_expires, it_names_what_did_not_come_and_how_long_it_waited,
                the_earliest_deadline_expires_first,
                only_the_given_instances_are_looked_at_in_their_order,
                nothing_falls_due_at_what_is_gone_or_has_ended,
                what_came_before_the_deadline_wins_however_late_anybody_looks,
                what_came_at_the_deadline_or_after_it_loses_however_late_anybody_looks,
                a_delivery_decides_first_what_fell_due,
                what_became_visible_is_accepted_in_order_of_its_time,
                what_became_visible_and_meets_no_wait_follows_its_policy,
                before_it_expires_a_wait_looks_for_what_was_sent_without_waking,
                what_comes_later_without_waking_wakes_nobody_then_either,
                a_paused_instance_gets_the_next_moment_as_its_wake_up_or_none,
                a_paused_start_keeps_its_moment, an_open_wait_can_be_given_another_deadline,
                a_deadline_moved_into_the_past_expires_when_it_is_next_looked_at,
                a_runner_that_knows_the_old_deadline_is_woken_at_the_new_one,
                a_wait_that_is_not_open_or_not_there_has_no_deadline_to_move
            );
            $crate::store_conformance!(@filter $fresh:
                what_the_filter_refuses_leaves_the_wait_open, the_first_buffered_entry_that_it_wants_meets_it, a_signal_goes_to_the_oldest_wait_that_wants_it, two_waits_reached_together_take_what_each_wants, a_filter_that_fails_does_not_match, an_absent_payload_is_undefined, what_was_written_and_what_was_folded_are_kept
            );
            $crate::store_conformance!(@race $fresh:
                the_first_that_is_met_cancels_the_others_in_one_row, of_several_that_want_it_the_oldest_wins, a_wait_outside_the_race_is_met_as_well, a_loser_eats_nothing, early_events_decide_a_race_when_it_is_reached, one_that_expires_leaves_the_others_waiting, a_winner_that_nobody_saw_can_be_undone
            );
            $crate::store_conformance!(@count $fresh:
                the_last_one_fulfils_it_with_all_of_them_in_order, what_came_early_counts, what_is_held_is_met_taken_and_replaced_by_nobody, a_distinct_key_counts_once, on_expiry_they_go_back_and_it_says_how_many_there_were, what_an_expired_one_lets_go_is_offered_to_the_others, of_the_latest_only_the_newest_goes_back, another_wait_that_it_fulfilled_keeps_what_is_let_go, two_that_hold_the_same_let_it_go_together, one_that_was_met_unseen_gives_all_of_them_back, what_is_held_counts_for_the_limit_of_the_buffer, the_end_discards_what_is_held, the_next_run_finds_what_was_held_in_the_buffer
            );
            $crate::store_conformance!(@quiet $fresh:
                the_next_commit_looks_at_it_for_waits_that_were_open, it_keeps_its_place_before_a_later_one, a_nudge_has_it_looked_at,
                a_nudge_may_come_later, a_nudge_moves_nobody_who_is_paused_or_has_ended
            );
            $crate::store_conformance!(@undo $fresh:
                a_dropped_wait_is_cancelled_and_meets_nothing,
                what_fulfilled_it_meanwhile_returns_to_its_place,
                another_wait_that_it_fulfilled_keeps_it, two_dropped_at_once_return_it_once,
                a_latest_gives_way_to_a_newer_one,
                a_latest_does_not_give_way_to_one_whose_time_has_not_come, a_queued_event_gives_way_to_nobody,
                it_is_offered_to_the_open_waits,
                it_is_offered_to_the_waits_of_the_same_commit_the_oldest_first,
                an_event_is_offered_to_old_and_new_waits_alike, one_that_expired_stays_expired,
                a_dropped_wait_for_an_output_gives_nothing_back
            );
            $crate::store_conformance!(@take $fresh:
                the_first_that_matches_is_consumed, if_there_is_none_the_step_is_settled_without,
                events_are_taken_by_pattern, it_comes_before_the_waits_of_the_same_commit
            );
            $crate::store_conformance!(@send $fresh:
                it_is_delivered_and_settles_the_step_in_the_same_commit,
                a_refused_one_settles_the_step_and_stops_nothing_else, it_can_be_sent_to_itself,
                the_same_id_again_is_answered_as_the_first_time, an_event_may_be_sent_too
            );
            $crate::store_conformance!(@output $fresh:
                setting_it_again_replaces_value_and_time, a_wait_is_met_when_it_is_there_already,
                open_waits_of_all_instances_are_met_when_it_is_set,
                an_instance_that_is_not_there_yet_can_be_waited_for,
                what_is_set_after_the_deadline_comes_too_late,
                an_event_of_that_name_does_not_meet_a_wait_for_an_output
            );
            $crate::store_conformance!(@closing $fresh:
                an_end_cancels_and_discards_in_a_row_before_its_own,
                a_failure_and_a_termination_do_so_too,
                a_wait_that_the_last_commit_drops_is_not_cancelled_twice,
                what_the_last_commit_itself_leaves_open_is_closed_too,
                what_was_consumed_by_a_wait_that_ended_with_its_run_is_gone,
                a_whole_restart_deletes_all_of_it,
                a_restart_from_a_step_cancels_open_waits_and_keeps_the_rest,
                a_continue_cancels_open_waits_and_keeps_the_rest,
                a_wait_of_an_earlier_run_is_not_dropped_by_a_later_one,
                a_terminated_instance_is_not_revived_by_what_it_waited_for,
                pruning_removes_all_of_it
            );
            $crate::store_conformance!(@pause $fresh:
                a_pause_shows_at_once_and_leaves_the_phase, resuming_what_has_begun_makes_it_run,
                resuming_what_has_not_begun_leaves_it_queued, a_pause_and_a_resume_leave_the_claim,
                what_pauses_itself_can_be_resumed, pausing_twice_or_after_the_end_is_refused,
                resuming_what_is_not_paused_is_refused, what_is_not_there_cannot_be_controlled,
                children_are_not_paused
            );
            $crate::store_conformance!(@terminate $fresh:
                termination_ends_it_with_the_reason, terminating_after_the_end_is_refused,
                children_and_their_children_are_terminated_too, children_can_be_left_running,
                children_that_ended_are_left_as_they_are,
                paused_and_queued_children_are_terminated_too, compensation_arrives_and_unpauses,
                compensation_leaves_the_wake_up_of_what_runs_as_any_arrival_does,
                after_compensation_it_ends_as_terminated,
                what_has_not_begun_has_nothing_to_compensate, children_compensate_too,
                a_child_that_ends_at_once_arrives_at_a_parent_that_compensates
            );
            $crate::store_conformance!(@restart $fresh:
                it_begins_anew_from_every_status, whoever_ran_it_has_to_claim_it_again,
                the_deadline_begins_anew, what_has_not_begun_begins_at_once, children_live_on,
                from_a_step_what_was_settled_before_it_is_kept,
                from_a_step_kept_entries_stand_in_the_order_they_were_seen,
                from_a_step_the_next_entries_follow_the_kept_ones,
                from_an_unknown_step_is_refused_naming_the_known,
                a_step_of_an_earlier_run_is_unknown, every_restart_opens_another_run
            );
            $crate::store_conformance!(@continued $fresh:
                the_next_run_opens_with_its_input, whoever_ran_it_has_to_claim_it_again,
                a_restart_keeps_the_input_of_the_last_run,
                a_waiting_parent_gets_the_result_of_the_last_run,
                a_parent_that_continues_waits_for_its_children_no_more,
                children_of_the_handover_belong_to_the_run_that_started_them,
                a_pause_stays_when_the_run_hands_over
            );
            $crate::store_conformance!(@runnable $fresh:
                what_nobody_claimed_comes_in_order, it_is_read_in_pages,
                what_is_parked_paused_or_ended_is_left_out,
                what_is_queued_without_a_wake_up_could_begin_at_any_time
            );
            $crate::store_conformance!(@due $fresh:
                the_earliest_comes_first_and_then_the_oldest, until_is_not_included,
                it_is_read_in_pages, claimed_or_not_it_is_due,
                what_is_queued_for_a_moment_is_due_then,
                what_ended_or_is_not_timed_is_left_out,
                clocks_go_on_under_a_pause_but_a_start_waits_for_the_resume
            );
            $crate::store_conformance!(@listing $fresh:
                by_workflow, by_status, by_the_beginning_of_the_id, by_correlation_id, by_tag,
                by_parent, by_the_moment_of_acceptance, by_a_text_in_the_input,
                everything_given_must_hold, pages_have_neither_gap_nor_duplicate,
                what_is_accepted_meanwhile_does_not_shift_a_page
            );
            $crate::store_conformance!(@history $fresh:
                it_is_read_in_pages_that_may_cut_a_row, every_cut_gives_the_same_whole,
                it_goes_on_through_all_runs, an_overview_has_the_current_run_and_the_waits,
                of_an_instance_that_is_not_there_is_refused,
                of_an_instance_that_has_not_begun_there_is_none
            );
            $crate::store_conformance!(@prune $fresh:
                only_what_ended_before_the_moment_goes, at_most_so_many_go_and_the_oldest_first,
                what_has_not_ended_stays, everything_it_owned_goes_with_it,
                its_id_is_free_again_and_its_key_is_not, children_of_a_pruned_parent_stay
            );
            $crate::store_conformance!(@publish $fresh:
                every_wait_that_wants_it_is_met_wherever_it_is,
                a_wait_gets_what_the_event_says_of_itself,
                a_filter_sees_the_whole_envelope,
                equality_keys_tell_waits_apart,
                a_filter_that_fails_does_not_match,
                instances_are_told_in_order_of_their_first_wait_that_wants_it,
                signals_messages_and_outputs_are_not_published_to,
                what_nobody_wants_is_in_the_log_and_nowhere_else,
                the_same_source_and_id_again_is_answered_as_the_first_time,
                the_same_id_from_another_source_is_another_event,
                addressed_and_published_ids_do_not_know_of_each_other,
                what_is_not_acceptable_is_refused_and_stores_nothing,
                a_dry_run_answers_the_same_and_leaves_no_trace,
                a_wait_past_its_deadline_expires_before_it_can_be_met,
                what_fell_due_elsewhere_is_not_looked_at,
                a_paused_instance_is_met_underneath_its_pause,
                what_has_ended_takes_nothing,
                the_first_of_a_race_that_is_met_cancels_the_others,
                of_several_of_a_race_that_want_it_the_oldest_wins,
                a_counted_wait_holds_it_until_the_last,
                it_counts_together_with_what_was_addressed,
                what_is_held_is_listed_with_its_place_in_the_log,
                lists_end_and_counts_go_on,
                triggers_that_failed_are_told
            );
            $crate::store_conformance!(@lookback $fresh:
                what_was_published_too_early_still_counts,
                the_first_transition_of_a_start_looks_back_to_nothing,
                the_oldest_that_it_wants_comes_first,
                an_instance_never_takes_one_twice,
                one_serves_all_waits_of_a_commit,
                waits_of_earlier_commits_are_not_offered_it_again,
                what_was_addressed_comes_first,
                since_now_looks_back_to_nothing,
                since_a_moment_counts_what_was_accepted_then_or_later,
                since_a_moment_of_which_the_log_knows_no_more_is_all_that_it_keeps,
                a_whole_restart_looks_back_to_itself_and_forgets_what_was_taken,
                a_restart_from_a_step_keeps_what_was_taken,
                a_continue_keeps_what_was_taken,
                it_counts_although_the_deadline_is_past,
                a_race_is_decided_when_it_is_reached,
                a_counted_wait_holds_what_it_finds,
                what_was_started_by_an_event_does_not_find_it,
                an_event_that_the_log_lost_can_be_consumed_by_nobody,
                what_is_pruned_is_not_found,
                without_an_equality_key_it_ends_at_the_limit_and_says_so
            );
            $crate::store_conformance!(@trigger $fresh:
                what_it_starts_begins_running_and_unclaimed,
                an_id_that_exists_starts_nothing_and_is_not_told,
                what_it_starts_later_is_queued_and_told_as_deferred,
                several_begin_in_the_order_they_are_given,
                it_cancels_whoever_has_the_correlation_id,
                children_of_the_cancelled_end_with_them,
                whoever_ended_with_another_is_not_told_twice,
                cancels_come_before_waits_and_waits_before_starts,
                a_duplicate_starts_and_cancels_nothing,
                the_event_that_started_it_is_not_an_addressed_one,
                its_timeout_counts_from_its_start
            );
            $crate::store_conformance!(@window $fresh:
                a_burst_is_debounced_to_its_last,
                a_debounce_does_not_wait_for_ever,
                windows_with_other_keys_or_triggers_do_not_know_of_each_other,
                what_has_begun_ended_or_was_claimed_is_joined_no_more,
                a_paused_start_can_be_joined,
                a_batch_collects_until_it_is_full,
                a_batch_of_one_begins_at_once,
                a_throttle_gives_each_its_period,
                an_id_that_exists_leaves_the_window_as_it_was,
                a_joined_start_has_its_timeout_from_its_new_moment,
                a_dry_run_leaves_the_window_as_it_was,
                a_batch_does_not_join_what_is_no_list
            );
            $crate::store_conformance!(@letting_go $fresh:
                what_an_undone_wait_had_is_in_the_buffer,
                it_is_taken_from_the_buffer_once,
                what_was_found_in_the_log_returns_too,
                a_wait_that_does_not_reach_back_to_it_leaves_it,
                it_is_offered_to_the_waits_that_were_open,
                what_an_expired_count_held_goes_back,
                it_gives_way_to_nobody,
                another_wait_that_it_fulfilled_keeps_it,
                it_can_be_taken_without_waiting,
                the_log_alone_is_not_there_to_be_taken,
                the_end_discards_it,
                the_next_run_finds_it_in_the_buffer,
                it_stays_although_the_log_forgets_it
            );
            $crate::store_conformance!(@publishing $fresh:
                it_is_accepted_and_settles_the_step_in_the_same_commit,
                a_refused_one_settles_the_step_and_stops_nothing_else,
                the_same_again_is_answered_as_the_first_time,
                its_own_open_waits_may_take_it,
                waits_of_the_same_commit_find_it_by_looking_back,
                several_are_accepted_one_after_the_other,
                they_come_after_what_is_sent_and_before_what_is_taken,
                a_fenced_commit_publishes_nothing,
                the_first_transition_of_a_start_publishes_too,
                the_last_commit_publishes_too,
                whoever_is_cancelled_by_its_own_event_does_nothing_more
            );
            $crate::store_conformance!(@edit $fresh:
                what_comes_next_is_asked_the_new_filter,
                what_is_buffered_is_offered_and_then_the_log,
                only_the_edited_one_is_offered_anything,
                it_looks_back_no_further_than_before,
                what_the_instance_took_is_not_offered_again,
                its_rivals_lose_when_it_is_met,
                what_it_held_it_still_holds,
                deadline_and_filter_can_be_changed_together,
                one_past_its_deadline_expires_once_it_has_looked,
                an_edit_of_nothing_changes_nothing,
                a_wait_that_is_not_open_or_not_there_has_no_filter_to_change
            );
            $crate::store_conformance!(@log $fresh:
                an_event_reads_back_as_it_was_published,
                it_is_listed_by_whatever_is_given,
                pages_have_neither_gap_nor_duplicate,
                its_span_goes_from_the_oldest_kept_to_the_last_ever,
                takers_are_told_in_key_order_with_their_moment,
                a_pruned_instance_is_no_taker_and_the_event_was_wanted,
                what_a_wait_may_have_been_compared_with_is_told_newest_first,
                the_oldest_are_pruned_by_time,
                the_oldest_are_pruned_by_bytes_of_payload,
                the_oldest_of_each_type_are_pruned_by_count,
                what_is_pruned_can_come_again_as_another
            );
            $crate::store_conformance!(@document $fresh:
                it_reads_back_as_it_was_put,
                a_change_is_the_next_version_and_the_same_again_is_not,
                of_a_sink_only_the_last_version_is_kept,
                the_latest_are_listed_by_name,
                kinds_do_not_know_of_each_other,
                removing_one_removes_its_versions
            );
            $crate::store_conformance!(@tail $fresh:
                rows_of_all_instances_come_in_the_order_of_commits,
                it_is_read_in_pages_and_goes_on_where_it_ended,
                without_a_limit_only_the_end_is_told,
                marks_are_left_out_and_rows_that_have_nothing_else,
                the_status_is_that_of_now,
                rows_of_instances_that_are_gone_are_left_out_and_their_numbers_not_used_again,
                what_the_store_records_is_there_as_well,
                whoever_listens_hears_that_something_was_recorded
            );
            $crate::store_conformance!(@chunk $fresh:
                what_is_appended_reads_back_in_order,
                one_step_is_read_from_a_place_on_in_pages,
                an_append_leaves_no_history_and_does_not_touch_the_instance,
                a_commit_stores_its_chunks_with_its_history,
                an_append_is_fenced_like_a_commit,
                the_first_chunk_of_an_attempt_takes_the_place_of_those_before,
                a_chunk_of_an_earlier_attempt_comes_too_late,
                the_same_place_again_changes_nothing,
                a_whole_restart_takes_them_and_one_from_a_step_keeps_them,
                the_next_run_keeps_them_until_its_own,
                they_go_with_their_instance_and_their_rows_are_not_used_again,
                whoever_listens_hears_of_every_stored_one
            );
            $crate::store_conformance!(@hint $fresh:
                a_hint_is_heard_only_after_its_effect_can_be_read,
                a_hint_of_a_child_is_heard_only_after_the_child_can_be_read,
                an_arrival_carries_what_was_recorded, an_end_carries_the_result,
                an_output_carries_its_value, a_moment_that_came_nearer_is_told,
                quiet_verbs_send_nothing
            );
            $crate::store_conformance!(@trace $fresh:
                the_trace_of_a_start_opens_the_history,
                the_trace_of_a_delivery_is_told_when_it_comes_and_when_it_meets_a_wait,
                the_trace_of_a_published_event_is_an_attribute_of_it
            );
            $crate::store_conformance!(@figures $fresh:
                every_entry_is_counted_once_whoever_wrote_it,
                what_is_refused_or_fenced_is_not_counted,
                published_events_are_counted_by_whether_anybody_wanted_them,
                a_census_counts_instances_by_status_and_what_is_open
            );
        }
    };
    (@$noun:ident $fresh:path: $($case:ident),* $(,)?) => {
        mod $noun {
            use super::*;
            $(
                #[test]
                fn $case() {
                    $crate::conformance::check($fresh, $crate::conformance::$noun::$case);
                }
            )*
        }
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_case_is_in_the_macro() {
        let list = include_str!("conformance.rs");
        let sources = [
            include_str!("conformance/start.rs"),
            include_str!("conformance/commit.rs"),
            include_str!("conformance/claim.rs"),
            include_str!("conformance/child.rs"),
            include_str!("conformance/arrival.rs"),
            include_str!("conformance/deliver.rs"),
            include_str!("conformance/buffer.rs"),
            include_str!("conformance/reach.rs"),
            include_str!("conformance/deadline.rs"),
            include_str!("conformance/filter.rs"),
            include_str!("conformance/race.rs"),
            include_str!("conformance/count.rs"),
            include_str!("conformance/quiet.rs"),
            include_str!("conformance/undo.rs"),
            include_str!("conformance/take.rs"),
            include_str!("conformance/send.rs"),
            include_str!("conformance/output.rs"),
            include_str!("conformance/closing.rs"),
            include_str!("conformance/pause.rs"),
            include_str!("conformance/terminate.rs"),
            include_str!("conformance/restart.rs"),
            include_str!("conformance/continued.rs"),
            include_str!("conformance/runnable.rs"),
            include_str!("conformance/due.rs"),
            include_str!("conformance/listing.rs"),
            include_str!("conformance/history.rs"),
            include_str!("conformance/prune.rs"),
            include_str!("conformance/hint.rs"),
            include_str!("conformance/publish.rs"),
            include_str!("conformance/lookback.rs"),
            include_str!("conformance/trigger.rs"),
            include_str!("conformance/window.rs"),
            include_str!("conformance/letting_go.rs"),
            include_str!("conformance/publishing.rs"),
            include_str!("conformance/edit.rs"),
            include_str!("conformance/figures.rs"),
            include_str!("conformance/trace.rs"),
            include_str!("conformance/log.rs"),
            include_str!("conformance/document.rs"),
            include_str!("conformance/tail.rs"),
            include_str!("conformance/chunk.rs"),
        ];
        let written: Vec<&str> = sources
            .iter()
            .flat_map(|source| source.lines())
            .filter_map(|line| line.strip_prefix("pub async fn ")?.split('(').next())
            .collect();
        assert!(written.len() > 100, "found {}", written.len());
        for case in written {
            let listed = list.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == case);
            assert!(listed, "{case} is never run");
        }
    }
}
