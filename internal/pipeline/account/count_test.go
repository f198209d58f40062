package account

import (
	"maps"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// What became of the records of blocks is counted once each, and sums leave what they add as it was.
func TestCountsAndSumsOfRecords(t *testing.T) {
	var first, second report.Records
	for i, to := range []*report.Records{&first, &second, &second} {
		var b microdata.Block
		b.Reset(0, 0, 10, 0)
		b.Reject(3, "wage", "r")
		if i > 0 {
			b.Reject(5, "", "s")
		}
		Count(to, &b)
	}
	want := microdata.Counts{Read: 10, Released: 9, Quarantined: 1}
	if first.Counts != want || !maps.Equal(first.Reasons, map[string]int64{"wage: r": 1}) {
		t.Errorf("one block: %+v", first)
	}
	first.Lost, first.Repeated, first.Unassessed, second.Lost, second.Repeated, second.Unassessed = 1, 2, 3, 10, 20, 30
	sum := Sum(first, second)
	want = microdata.Counts{Read: 30, Released: 25, Quarantined: 5}
	if sum.Counts != want || !maps.Equal(sum.Reasons, map[string]int64{"wage: r": 3, "s": 2}) || sum.Lost != 11 ||
		sum.Repeated != 22 || sum.Unassessed != 33 {
		t.Errorf("the sum is %+v", sum)
	}
	if first.Reasons["wage: r"] != 1 || second.Reasons["wage: r"] != 2 || len(first.Reasons) != 1 {
		t.Errorf("the operands are %+v and %+v", first, second)
	}
	for _, none := range []report.Records{Sum(report.Records{}, first), Sum(first, report.Records{})} {
		if none.Counts != first.Counts || !maps.Equal(none.Reasons, first.Reasons) {
			t.Errorf("with nothing added: %+v", none)
		}
	}
}
