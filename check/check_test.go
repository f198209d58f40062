package check

import (
	"strings"
	"testing"
)

// Numbers below, at and above both bounds.
func TestBounds(t *testing.T) {
	var ps Problems
	for _, v := range []int{1, 2, 3, 4, 5} {
		ps.Whole("whole", v, 2, 4)
		ps.Between("between", float64(v), 2, 4)
	}
	ps.Whole("great", 1<<50+1, 1, 1<<50)
	var got []string
	for _, p := range ps {
		got = append(got, p.Error())
	}
	const want = "whole: must be between 2 and 4, got 1|between: must be between 2 and 4, got 1|" +
		"whole: must be between 2 and 4, got 5|between: must be between 2 and 4, got 5|" +
		"great: must be between 1 and 1125899906842624, got 1125899906842625"
	if strings.Join(got, "|") != want {
		t.Errorf("%s", strings.Join(got, "|"))
	}
}
