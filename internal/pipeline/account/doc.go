// Package account is what a run says of itself: its report with warnings and verdict, the
// files of the report and of its public twin, snapshots on the log, and the places of
// records that could not be masked.
package account
