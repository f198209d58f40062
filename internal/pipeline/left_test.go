package pipeline

import (
	"fmt"
	"strings"
	"testing"
)

// A key that cannot be counted is omitted if only its role makes it a key, and no intruder and no
// rule about categories (first or last) needs all keys. The log says so.
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
			t.Errorf("%q: leavesOut(true) = %v, want %v", c.lines, got, c.want)
		}
		if pl.leavesOut(false) {
			t.Errorf("%q: leavesOut(false) is true", c.lines)
		}
	}
	if text := new(IntruderColumns).Unmeasured(); text != "" {
		t.Errorf("with no key left out, Unmeasured returns %q", text)
	}
	if text := (&IntruderColumns{Left: []string{"tags", "more"}}).Unmeasured(); !strings.HasPrefix(text,
		"k, individual risk and SUDA2 leave out tags, more, ") {
		t.Errorf("with two keys left out, Unmeasured returns %q", text)
	}
}

// A rule about respondents needs keys of the type that it measures, and a rule about information
// loss needs a mask of such a key: the first rule and the last are refused, with their places.
func TestRulesAboutRespondentsNeedKeys(t *testing.T) {
	const noise, recode = "masks: [{noise: {columns: [wage], sd: 3}}]\n",
		"masks: [{recode: {columns: [region], map: {a: b}}}]\n"
	const means = "masks: [{microaggregate: {columns: [wage], k: 3}}]\n"
	const any, of = "gate: {rules: [{column: wage, min_efficiency: 0.1}, %s]}\n",
		"gate: {rules: [%s, {column: wage, min_efficiency: 0.1}]}\n"
	for _, c := range []struct{ masks, rule, keys, want string }{
		{noise, "{max_changed: 0.5}", "region",
			".max_changed: is about the information loss of categorical keys, and no mask changes one"},
		{noise, "{max_pmse: 0.1}", "region, wage",
			".max_pmse: is about the information loss of categorical keys, and no mask changes one"},
		{recode, "{max_changed: 0.5}", "region", ""},
		{recode, "{max_changed: 0.5}", "kind",
			".max_changed: is about the information loss of categorical keys, and no mask changes one"},
		{noise, "{min_k: 2}", "region", ""},
		{means, "{min_k: 2}", "wage",
			".min_k: counts combinations of all keys, and not all can be counted: \"wage\" is masked by microaggregate (masks[0].microaggregate)"},
		{means, "{max_individual_risk: 0.5}", "region, wage",
			".max_individual_risk: counts combinations of all keys, and not all can be counted: \"wage\" is masked by microaggregate (masks[0].microaggregate)"},
		{means, "{min_k: 2, combinations: 1}", "wage, region",
			".min_k: counts combinations of all keys, and not all can be counted: \"wage\" is masked by microaggregate (masks[0].microaggregate)"},
		{recode, "{min_k: 2}", "region", ""},
		{noise, "{min_k: 2}", "wage", ""}, // by its posterior
		{noise, "{max_linked: 0.5}", "wage", ""},
		{noise, "{max_linked: 0.5}", "region", ""},
	} {
		for at, gate := range []string{of, any} {
			masks := c.masks
			if masks == recode {
				masks = strings.Replace(noise, "}}]", "}}, ", 1)
				masks = strings.TrimSuffix(masks, "\n") + strings.TrimPrefix(recode, "masks: [")
			}
			p := parsed(t, t.TempDir(), columns+masks+fmt.Sprintf(gate, c.rule)+"assess: {keys: ["+c.keys+"]}\n")
			pl, err := newPlan(p, nil, &table{fields: fieldsOf(nil)}, true)
			if c.want == "" {
				if err != nil || pl == nil {
					t.Errorf("rule %s with keys %s: error %v, want none", c.rule, c.keys, err)
				}
				continue
			}
			if want := fmt.Sprintf("gate.rules[%d]%s", at, c.want); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("rule %s with keys %s: error %v, want %s", c.rule, c.keys, err, want)
			}
		}
	}
}

// If messages are read and released as JSON, columns keep their JSON text, except if a mask writes
// categories and all other masks only change numbers. In all other cases they are read as plain text.
func TestMessagesAreDeclaredPlain(t *testing.T) {
	const noise, recode = "{noise: {columns: [wage], sd: 3}}", "{recode: {columns: [kind], map: {a: b}}}"
	for _, c := range []struct {
		masks string
		json  bool
		want  bool
	}{{noise, true, false}, {noise, false, true}, {noise + ", " + recode, true, true},
		{noise + ", {swap: {keys: [region], attribute: kind, columns: [wage], rate: 0.5, policy: random}}", true, false}} {
		p := people(t, columns+"masks: ["+c.masks+"]\n")
		d := &declared{SourceConfig: p.Source.Config}
		p.Source.Config, p.Sink.Config = d, &keyedSink{SinkConfig: p.Sink.Config, json: c.json}
		if err := Declare(p); err != nil || d.plain != c.want {
			t.Errorf("%s, JSON sink %v: texts read as such: %v, error %v", c.masks, c.json, d.plain, err)
		}
	}
}
