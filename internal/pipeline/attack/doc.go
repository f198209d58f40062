// Package attack runs the configured intruder on what the masks release: at the end of a run,
// for the gate, or without a run, to know the result beforehand.
package attack
