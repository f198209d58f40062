package stream

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// TestReasons: rejections of an aborted transaction are dropped, records counted before are not
// counted again, and kept counts of other masks or another version, and damaged ones, are not used.
func TestReasons(t *testing.T) {
	block := func(first int64, rows ...int) *microdata.Block {
		b := &microdata.Block{First: first, N: 10}
		for _, r := range rows {
			b.Rejects = append(b.Rejects, microdata.Reject{Row: r, Column: "wage", Reason: "null"})
		}
		return b
	}
	var r reasons
	r.add(block(0, 1, 2), 0)
	r.rollback()
	if kept, err := r.keep("masks"); kept != nil || err != nil {
		t.Errorf("an aborted transaction keeps the reasons %s (error %v)", kept, err)
	}
	r.add(block(0, 1, 2), 0)
	r.commit()
	r.add(block(0, 1, 2, 5), 5) // 5 is the first record that was not counted
	kept, err := r.keep("masks")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"wage: null": 3}
	if r.commit(); !reflect.DeepEqual(r.whole, want) {
		t.Errorf("the reasons are %v, want %v", r.whole, want)
	}
	var again, other reasons
	if err := again.take(kept, "masks"); err != nil || !reflect.DeepEqual(again.whole, want) {
		t.Errorf("the loaded reasons are %v (error %v)", again.whole, err)
	}
	if err := other.take(kept, "other masks"); err != nil || other.whole != nil {
		t.Errorf("reasons of other masks are loaded: %v (error %v)", other.whole, err)
	}
	if err := other.take(nil, "masks"); err != nil || other.whole != nil {
		t.Errorf("a state without reasons gives %v (error %v)", other.whole, err)
	}
	for text, want := range map[string]string{`{"version":2,"canary":1}`: "has version 2, this program reads version 1"[4:], `canary`: "damaged"} {
		if err := other.take([]byte(text), "masks"); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: take returns %v", text, err)
		}
	}
	a := map[string]int64{"x": 1}
	if sum := plus(a, map[string]int64{"x": 2, "y": 1}); a["x"] != 1 || sum["x"] != 3 || sum["y"] != 1 {
		t.Errorf("the sum is %v, the first operand %v", sum, a)
	}
}
