// Package objectpath is how objects are named: SCHEME://BUCKET/KEY. It opens nothing and knows no protocol, only which
// schemes there are; package objects opens what is named so.
package objectpath

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
)

// Name is where an object lies, or with a key that is empty or ends in a slash what lies
// below it.
type Name struct {
	Scheme, Bucket, Key string
}

func (n Name) String() string { return n.Scheme + "://" + n.Bucket + "/" + n.Key }

// Is reports whether a path is that of an object, or at least no file's: SCHEME://…
func Is(path string) bool { return scheme.MatchString(path) }

var (
	scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	bucket = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]+[A-Za-z0-9]$`) // of up to 255 characters
)

// Variables of the environment that say how a release is encrypted where it lies, by S3.
// Without them it is as the bucket's default has it.
const (
	SSEVariable = "SDLFILTER_S3_SSE"            // AES256, aws:kms, aws:kms:dsse
	KMSVariable = "SDLFILTER_S3_SSE_KMS_KEY_ID" // the key of KMS; "": the bucket's
)

var known = map[string]bool{}

// Know adds a scheme that there is a protocol for. It is for objects.Register.
func Know(scheme string) { known[scheme] = true }

// Schemes are those that this program has a protocol for.
func Schemes() []string {
	var all []string
	for s := range known {
		all = append(all, s)
	}
	slices.Sort(all)
	return all
}

// Parse takes a path apart. It opens nothing. What is wrong with a path is said without
// what may be a secret in it: keys belong into the environment, and somebody writes them
// into the path all the same.
func Parse(path string) (Name, error) {
	s, rest, ok := strings.Cut(path, "://")
	s = strings.ToLower(s)
	if !ok || !Is(path) {
		return Name{}, errors.New("is no name of an object")
	}
	if !known[s] {
		return Name{}, Unknown(s)
	}
	b, key, _ := strings.Cut(rest, "/")
	switch {
	case b == "":
		return Name{}, fmt.Errorf("must name a bucket: %s://BUCKET/KEY", s)
	case strings.Contains(b, "@"):
		return Name{}, fmt.Errorf("must hold no credentials: they come from the environment. Write %s://BUCKET/KEY", s)
	case len(b) > 255 || !bucket.MatchString(b):
		return Name{}, fmt.Errorf("must name a bucket of letters, digits, points, underscores and hyphens: %s://BUCKET/KEY",
			s)
	}
	for i, part := range strings.Split(key, "/") {
		last := i == strings.Count(key, "/")
		if part == "." || part == ".." || part == "" && !last {
			return Name{},
				errors.New("must have no empty name, . or .. between its slashes: object storage takes them as they are")
		}
	}
	return Name{s, b, key}, nil
}

// Problem is what is wrong with a path as a configuration gives it; "" where nothing is,
// and for paths of files.
func Problem(path string) string {
	if !Is(path) {
		return ""
	}
	n, err := Parse(path)
	if err != nil {
		return err.Error()
	}
	if n.Key == "" {
		return fmt.Sprintf("must name an object or a folder in the bucket: %s://BUCKET/KEY", n.Scheme)
	}
	return ""
}

// Check adds what is wrong with a path as a configuration gives it.
func Check(ps *check.Problems, field, path string) {
	if wrong := Problem(path); wrong != "" {
		ps.Addf(field, "%s", wrong)
	}
}

// Unknown is the error of a scheme that there is no protocol for.
func Unknown(s string) error {
	switch s {
	case "s3", "gs", "az":
		return fmt.Errorf("must not begin with %s://: this program was built without object storage (-tags noobjects)", s)
	}
	return fmt.Errorf("must be a path of this machine or begin with one of %s; %s:// is not known", list(), s)
}

func list() string {
	all := Schemes()
	for i := range all {
		all[i] += "://"
	}
	return strings.Join(all, ", ")
}

// Clean is the path as messages and reports name it.
func Clean(path string) string {
	if n, err := Parse(path); err == nil {
		n.Key = strings.TrimSuffix(n.Key, "/")
		return n.String()
	}
	return path
}

// Below reports whether a path names something below another one, both of objects.
func Below(folder, path string) bool {
	return strings.HasPrefix(Clean(path), strings.TrimSuffix(Clean(folder), "/")+"/")
}
