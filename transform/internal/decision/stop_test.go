package decision

import "testing"

// It is asked in each turn that is a multiple of Every, the first among them, and in no other; nil is never cancelled.
func TestStop(t *testing.T) {
	asked, stopped := 0, false
	stop := Stop(func() bool { asked++; return stopped })
	for i := range 3*Every + 1 {
		if stop.At(i) {
			t.Fatal("stops by itself")
		}
	}
	if asked != 4 {
		t.Errorf("it is asked %d times", asked)
	}
	if stopped = true; !stop.At(Every) || stop.At(Every+1) || stop.At(Every-1) || !stop.Now() {
		t.Error("it does not stop where it is asked, or elsewhere")
	}
	if Stop(nil).Now() || Stop(nil).At(0) {
		t.Error("nil stops")
	}
}
