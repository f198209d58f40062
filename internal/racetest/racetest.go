// Package racetest says what of the tests the race detector watches. It makes them some ten times slower, and
// finds what goroutines do to memory that they share: a further case that sends the same goroutines the same ways,
// and a computation of minutes in one of them, tell it nothing. Tests name these here; `make test-race` leaves them
// out, and `make test-race-long` has them all.
package racetest

import (
	"os"
	"testing"
)

// Alone skips a test that computes in one goroutine, or that looks for words in what others already run.
func Alone(t testing.TB) {
	t.Helper()
	if short() {
		t.Skip("the race detector would see one goroutine")
	}
}

// Further skips a test that runs the goroutines of other tests in further cases.
func Further(t testing.TB) {
	t.Helper()
	if short() {
		t.Skip("the race detector sees these goroutines in other tests")
	}
}

// Omits reports whether a case of a test is left out, which is further if it runs the goroutines of another one.
func Omits(further bool) bool { return further && short() }

// short reports whether `make test-race` has asked for its form. Without it `go test -race` runs everything, also
// where somebody looks for one race.
func short() bool { return os.Getenv("RACE") == "short" }
