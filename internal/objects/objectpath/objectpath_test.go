package objectpath

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/check"
)

func TestMain(m *testing.M) {
	Know("s3")
	Know("gs")
	m.Run()
}

// What names an object, what is wrong with it in words that hold nothing of it that may be a secret, and what names a
// file.
func TestProblems(t *testing.T) {
	for path, want := range map[string]string{
		"": "", "-": "", "a/b.csv": "", "/a/s3:/b": "", "s3:/b/k": "", "://b/k": "", "3s://b/k": "",
		"s3://abc/k": "", "S3://abc/k": "", "gs://a.b-c_d/k/l": "", "s3://abc/k/": "", "s3://abc/..k": "",
		"s3://":                   "must name a bucket: s3://BUCKET/KEY",
		"s3:///k":                 "must name a bucket: s3://BUCKET/KEY",
		"s3://user:canary@abc/k":  "must hold no credentials",
		"s3://ab/k":               "must name a bucket of letters",
		"s3://canary!/k":          "must name a bucket of letters",
		"s3://-abc/k":             "must name a bucket of letters",
		"s3://abc":                "must name an object or a folder in the bucket: s3://BUCKET/KEY",
		"s3://abc/":               "must name an object or a folder in the bucket: s3://BUCKET/KEY",
		"s3://abc//canary":        "must have no empty name, . or ..",
		"s3://abc/canary//":       "must have no empty name, . or ..",
		"s3://abc/canary/../k":    "must have no empty name, . or ..",
		"s3://abc/canary/.":       "must have no empty name, . or ..",
		"az://abc/canary":         "this program was built without object storage",
		"ftp://abc/canary":        "must be a path of this machine or begin with one of gs://, s3://; ftp:// is not known",
		"https://canary@host/key": "https:// is not known",
	} {
		got := Problem(path)
		if want == "" && got != "" || !strings.Contains(got, want) || strings.Contains(got, "canary") {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
		var ps check.Problems
		if Check(&ps, "path", path); (len(ps) > 0) != (want != "") || len(ps) > 0 && ps[0].Path != "path" {
			t.Errorf("%q: %v", path, ps)
		}
	}
	for n, want := range map[int]string{3: "", 255: "", 256: "must name a bucket of letters"} {
		if got := Problem("s3://" + strings.Repeat("b", n) + "/k"); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("a bucket of %d characters: %q, want %q", n, got, want)
		}
	}
	if _, err := Parse("a/b"); err == nil {
		t.Error("a path of a file is parsed")
	}
}

// A name in the form of messages, and what lies below another.
func TestCleanAndBelow(t *testing.T) {
	for path, want := range map[string]string{
		"S3://abc/k/": "s3://abc/k", "s3://abc/k": "s3://abc/k", "s3://abc": "s3://abc/", "a/b/": "a/b/",
		"ftp://a/b/": "ftp://a/b/",
	} {
		if got := Clean(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
	for _, c := range []struct {
		folder, path string
		want         bool
	}{
		{"s3://abc/k", "s3://abc/k/l", true}, {"s3://abc/k/", "S3://abc/k/l", true}, {"s3://abc", "s3://abc/k", true},
		{"s3://abc/k", "s3://abc/k", false}, {"s3://abc/k", "s3://abc/kl", false}, {"s3://abc/k", "gs://abc/k/l", false},
	} {
		if got := Below(c.folder, c.path); got != c.want {
			t.Errorf("%q below %q: %v", c.path, c.folder, got)
		}
	}
}
