package pagecheck

import "testing"

func TestShows(t *testing.T) {
	for _, c := range []struct {
		text, raw string
		want      bool
	}{
		{"28,155", "28155", true}, {"28,155", "28156", false}, {"3.75×10⁻⁵", "3.7499e-05", true},
		{"3.75×10⁻⁵", "3.76e-05", false},
		{"87.2\u00a0%", "0.8722", true}, {"87.2\u00a0%", "0.8732", false}, {"∞", "Infinity", true}, {"–", "null", true},
		{"0", "null", false},
		{"−7.5", "-7.46", true}, {"± 163", "163.3", true}, {"± 163", "164", false},
	} {
		if got := shows("", c.text, c.raw); got != c.want {
			t.Errorf("shows(%q, %s) = %v", c.text, c.raw, got)
		}
	}
}

func TestCompareFindsWhatDiffers(t *testing.T) {
	const text = `{"a": {"b/c": [1.25, "Infinity"]}}`
	for page, want := range map[string]int{
		`<p data-path="/a/b~1c/0" data-value="1.25">1.25</p>`:   0,
		`<p data-path="/a/b~1c/0" data-value="1.25">1.3</p>`:    0,
		`<p data-path="/a/b~1c/0" data-value="1.25">1.35</p>`:   1,
		`<p data-path="/a/b~1c/0" data-value="1.26">1.25</p>`:   1,
		`<p data-path="/a/b~1c/1" data-value="Infinity">∞</p>`:  0,
		`<p data-path="/a/b~1c/2" data-value="Infinity">∞</p>`:  1,
		`<p data-path="/a/x" data-value="">0</p>`:               1,
		`<p data-path="/a/b~1c/0/d" data-value="1.25">1.25</p>`: 1,
	} {
		seen, problems, err := Compare([]byte(page), []byte(text), true)
		if err != nil || seen != 1 || len(problems) != want {
			t.Errorf("%s: %d seen, problems %q, %v; want %d", page, seen, problems, err, want)
		}
	}
	if _, _, err := Compare([]byte("<p>"), []byte(text), true); err == nil {
		t.Error("a page that does not end was read")
	}
}
