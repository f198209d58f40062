package parquet

import "testing"

func TestSize(t *testing.T) {
	for _, c := range []struct {
		text string
		want Size
		back string
	}{
		{"128MB", 128e6, "128MB"}, {"64MiB", 64 << 20, "64MiB"}, {"1024", 1024, "1KiB"}, {"1000", 1000, "1kB"},
		{"1 GB", 1e9, "1GB"}, {"1GiB", 1 << 30, "1GiB"}, {"3TB", 3e12, "3TB"}, {"2TiB", 2 << 40, "2TiB"}, {"7B", 7, "7B"},
		{"10kB", 1e4, "10kB"}, {"1KiB", 1024, "1KiB"},
	} {
		var s Size
		if err := s.UnmarshalText([]byte(c.text)); err != nil || s != c.want || s.String() != c.back {
			t.Errorf("%s: %d, written %s, %v", c.text, s, s, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "MB", "1.5GB", "12 parsecs", "9999999TiB", "1MB ",
		"99999999999999999999"} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: %d", text, s)
		}
	}
}

func TestRollCheck(t *testing.T) {
	if ps := DefaultRoll().Check(); len(ps) > 0 {
		t.Errorf("the default: %v", ps)
	}
	for path, r := range map[string]Roll{
		"roll.records": {Size: 1, Interval: 1}, "roll.size": {Records: 1, Interval: 1},
		"roll.interval": {Records: 1, Size: 1},
	} {
		c := SinkConfig{Path: "a", Roll: &r}
		if ps := c.Check(); len(ps) != 1 || ps[0].Path != path {
			t.Errorf("%s: got %v", path, ps)
		}
	}
}
