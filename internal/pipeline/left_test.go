package pipeline

import (
	"strings"
	"testing"
)

// A key that cannot be counted is left out where it has its role alone, and neither an
// intruder nor a rule about categories, first or last, asks for all of them; and that is said.
func TestKeysThatAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		lines string
		want  bool
	}{
		{"", true},
		{"assess: {keys: [region]}\n", false},
		{"assess: {intruder: {linkage: {}}}\n", true},
		{"assess: {intruder: {uniqueness: {}}}\n", false},
		{"gate: {rules: [{column: wage, min_efficiency: 0.1}]}\n", true},
		{"gate: {rules: [{max_linked: 0.1}]}\nassess: {intruder: {linkage: {}}}\n", true},
		{"gate: {rules: [{min_k: 2}]}\n", false},
		{"gate: {rules: [{min_k: 2}, {column: wage, min_efficiency: 0.1}]}\n", false},
		{"gate: {rules: [{column: wage, min_efficiency: 0.1}, {max_individual_risk: 0.5}]}\n", false},
	} {
		p := parsed(t, t.TempDir(), columns+"masks: [{noise: {columns: [wage], sd: 3}}]\n"+c.lines)
		pl := &Plan{Config: p}
		if got := pl.leavesOut(true); got != c.want {
			t.Errorf("%q: left out %v, want %v", c.lines, got, c.want)
		}
		if pl.leavesOut(false) {
			t.Errorf("%q: what can be counted is left out", c.lines)
		}
	}
	if text := new(IntruderColumns).Unmeasured(); text != "" {
		t.Errorf("nothing is left out: %s", text)
	}
	if text := (&IntruderColumns{Left: []string{"tags", "more"}}).Unmeasured(); !strings.HasPrefix(text, "k, individual risk and SUDA2 leave out tags, more, ") {
		t.Errorf("two are left out: %s", text)
	}
}
