package stream

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// What is kept of a partition is compared with what is there: ids, ends, epochs and offsets, at each
// side of the limit.
func TestPlacesAreCompared(t *testing.T) {
	racetest.Further(t)
	t.Parallel()
	ends := func(end int64, known bool) func(int32) (int64, bool) {
		return func(int32) (int64, bool) { return end, known }
	}
	kept := keptPlace{TopicID: "a", Epoch: 3, Next: 100}
	unnamed := keptPlace{Epoch: -1, Next: 100}
	for _, c := range []struct {
		what  string
		kept  keptPlace
		there kafka.Arrival
		again bool
		want  gap
		anew  string
	}{
		{"nothing has changed", kept, kafka.Arrival{Next: 100, End: 100, TopicID: "a", Reached: true}, false, gap{}, ""},
		{"another topic, longer, with the old offset", kept,
			kafka.Arrival{Next: 100, First: 4, End: 300, TopicID: "b", Reached: true}, false, gap{at: 4, move: true},
			"was a and is b"},
		{"another topic, at its start", kept, kafka.Arrival{Next: 0, End: 300, TopicID: "b"}, false, gap{}, "was a and is b"},
		{"another topic, at an offset set by hand", kept, kafka.Arrival{Next: 7, End: 300, TopicID: "b"}, false, gap{at: 0},
			"was a and is b"},
		{"its end is gone", kept, kafka.Arrival{Next: 100, End: 99, TopicID: "a", Reached: true}, false,
			gap{at: 99, move: true}, "ends at 99"},
		{"its end is gone, behind new records", kept,
			kafka.Arrival{Next: 100, End: 200, TopicID: "a", Reached: true, EpochEnd: ends(80, true)}, false,
			gap{at: 80, move: true}, "ends at 80"},
		{"its epoch ends where it was read to", kept,
			kafka.Arrival{Next: 100, End: 200, TopicID: "a", Reached: true, EpochEnd: ends(100, true)}, false, gap{}, ""},
		{"its epoch is not known", kept,
			kafka.Arrival{Next: 100, End: 200, TopicID: "a", Reached: true, EpochEnd: ends(0, false)}, false, gap{}, ""},
		{"its end is gone, and it is there already", kept,
			kafka.Arrival{Next: 80, End: 200, TopicID: "a", EpochEnd: ends(80, true)}, false, gap{at: 80}, "ends at 80"},
		{"an earlier version's, no end", unnamed, kafka.Arrival{Next: 0, End: 99, TopicID: "b"}, true, gap{at: 99},
			"ends at 99"},
		{"an earlier version's, set back", unnamed, kafka.Arrival{Next: 99, End: 300, TopicID: "b"}, false, gap{},
			"id of the topic is not known"},
		{"an earlier version's, after a crash", unnamed, kafka.Arrival{Next: 99, End: 300, TopicID: "b", Reached: true}, true,
			gap{repeated: 1}, ""},
		{"an earlier version's, as it was", unnamed, kafka.Arrival{Next: 100, End: 300, TopicID: "b", Reached: true}, false,
			gap{}, ""},
		{"set back", kept, kafka.Arrival{Next: 40, End: 300, TopicID: "a"}, false, gap{repeated: 60}, ""},
		{"set forward", kept, kafka.Arrival{Next: 140, End: 300, TopicID: "a"}, false, gap{lost: 40}, ""},
		{"the state is behind", kept, kafka.Arrival{Next: 140, End: 300, TopicID: "a", Reached: true}, false,
			gap{unassessed: 40}, ""},
	} {
		got := c.kept.compare(c.there, c.again)
		if (got.anew == "") != (c.anew == "") || !strings.Contains(got.anew, c.anew) {
			t.Errorf("%s: %q, want %q", c.what, got.anew, c.anew)
		}
		got.anew = ""
		if !got.move {
			got.at, c.want.at = 0, 0
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
}

// The entry is read as it was written; one that is damaged or of a later version is refused without
// its content.
func TestPlacesAreRead(t *testing.T) {
	racetest.Further(t)
	t.Parallel()
	if p, known, err := readPlace(nil); known || err != nil || p.Epoch != -1 {
		t.Errorf("none: %+v, %v, %v", p, known, err)
	}
	if p, known, err := readPlace(
		[]byte(`{"version":1,"topic_id":"x","epoch":2,"next":7,"begun":1,"lost":3,"repeated":4,"unassessed":5}`)); !known || err != nil || p != (keptPlace{1, "x", 2, 7, 1, 3, 4, 5}) {
		t.Errorf("one: %+v, %v, %v", p, known, err)
	}
	for _, text := range []string{"canary", `{"version":2,"next":1}`, `{"version":1,"next":-1}`, `{"version":1,"lost":-1}`,
		`{"version":1,"unassessed":-1}`, `{"version":1,"begun":-1}`} {
		if _, known, err := readPlace([]byte(text)); known || err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v, %v", text, known, err)
		}
	}
}
