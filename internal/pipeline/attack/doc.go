// Package attack lets the intruder of a configuration at what its masks release: at the
// end of a run, for the gate, and in place of one, for whoever wants to know beforehand.
package attack
