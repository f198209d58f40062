package account

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

// steps is a publication of which each step notes its name, and fails if errs has an error for it.
type steps struct {
	done []string
	errs map[string]error
}

func (s *steps) do(name string) func() error {
	return func() error {
		s.done = append(s.done, name)
		return s.errs[name]
	}
}

func (s *steps) rest(name string) func(bool) ([]string, error) {
	return func(released bool) ([]string, error) {
		if err := s.do(fmt.Sprintf("%s %v", name, released))(); err != nil {
			return nil, err
		}
		return []string{name}, nil
	}
}

func (s *steps) publication(released bool, path string) Publication {
	return Publication{
		Released: released, Paths: []string{path}, Complete: s.do("complete"), Unchanged: s.do("unchanged"),
		Withhold: s.do("withhold"), Before: s.do("before"), Name: s.do("name"),
		Settle: func(err error) { _ = s.do(fmt.Sprint("settle ", err))() },
		Rest:   Rest{s.rest("quarantine"), s.rest("report")}, Log: zerolog.Nop(),
	}
}

// A release is entered, named and settled, in this order, when all is complete and the source is unchanged, and what
// belongs to it follows, the report last. What fails before the name ends all; what fails afterwards keeps nothing but
// itself from its name, unless another run has written there.
func TestOrderOfPublication(t *testing.T) {
	failed := errors.New("failed")
	other := fmt.Errorf("another run: %w", objects.ErrCondition)
	named := &objects.NamedError{Known: true, Err: errors.New("no answer")}
	const ready = "complete unchanged"
	for name, c := range map[string]struct {
		released  bool
		errs      map[string]error
		want      string
		files     string
		published bool // the error says that there is a release
	}{
		"released": {true, nil, ready + " before name settle <nil> quarantine true report true",
			"out quarantine report", false},
		"withheld": {false, nil, ready + " withhold quarantine false report false", "quarantine report",
			false},
		"reports cannot be written":     {true, map[string]error{"complete": failed}, "complete", "", false},
		"changed":                       {true, map[string]error{"unchanged": failed}, ready, "", false},
		"withheld, changed":             {false, map[string]error{"unchanged": failed}, ready, "", false},
		"not entered":                   {true, map[string]error{"before": failed}, ready + " before", "", false},
		"not entered, by a named error": {true, map[string]error{"before": named}, ready + " before", "", false},
		"not named": {true, map[string]error{"name": failed}, ready + " before name settle failed", "",
			false},
		"named with an error": {true, map[string]error{"name": named},
			ready + " before name settle " + named.Error() + " quarantine true report true", "", true},
		"no quarantine": {true, map[string]error{"quarantine true": failed},
			ready + " before name settle <nil> quarantine true report true", "", true},
		"another run has the quarantine": {true, map[string]error{"quarantine true": other},
			ready + " before name settle <nil> quarantine true", "", true},
		"no report": {true, map[string]error{"report true": failed},
			ready + " before name settle <nil> quarantine true report true", "", true},
		"not withheld": {false, map[string]error{"withhold": failed}, ready + " withhold", "", false},
		"withheld, no quarantine": {false, map[string]error{"quarantine false": failed},
			ready + " withhold quarantine false", "", false},
		"withheld, no report": {false, map[string]error{"report false": failed},
			ready + " withhold quarantine false report false", "", false},
	} {
		s := &steps{errs: c.errs}
		p := s.publication(c.released, "out")
		files, err := p.Publish(t.Context())
		if got := strings.Join(s.done, " "); got != c.want {
			t.Errorf("%s: the steps are\n%s\nwant\n%s", name, got, c.want)
		}
		if got := strings.Join(files, " "); got != c.files || (err == nil) != (c.errs == nil) {
			t.Errorf("%s: names %q and error %v, want %q", name, got, err, c.files)
		}
		var published *PublishedError
		if errors.As(err, &published) != c.published {
			t.Errorf("%s: the error is %v; want one of a release that is there: %v", name, err, c.published)
		}
		for _, why := range c.errs {
			if !strings.Contains(err.Error(), why.Error()) {
				t.Errorf("%s: the error is %v, and does not say %v", name, err, why)
			}
		}
	}
}

// A publication may have no ledger, and ends with its context before anything has its name.
func TestPublicationsEnd(t *testing.T) {
	s := &steps{}
	p := s.publication(true, "out")
	p.Before, p.Settle = nil, nil
	if files, err := p.Publish(t.Context()); err != nil || !slices.Equal(files, []string{"out", "quarantine", "report"}) {
		t.Errorf("without a ledger, Publish returns %q and %v", files, err)
	}
	why := errors.New("told to end")
	ctx, end := context.WithCancelCause(t.Context())
	s = &steps{}
	p = s.publication(true, "out")
	p.Complete = func() error {
		end(why)
		return s.do("complete")()
	}
	if files, err := p.Publish(ctx); files != nil || !errors.Is(err, why) || !slices.Equal(s.done, []string{"complete"}) {
		t.Errorf("Publish returns %q and %v after %q, want what ended the context", files, err, s.done)
	}
}

// Of a release that is withheld an earlier one under its name is said to be left.
func TestWithheldBesideAnEarlierRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.csv")
	for _, there := range []bool{false, true} {
		if there {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var log bytes.Buffer
		p := (&steps{}).publication(false, path)
		p.Log = zerolog.New(&log)
		if _, err := p.Publish(t.Context()); err != nil || strings.Contains(log.String(), "left as it was") != there {
			t.Errorf("a file is there: %v; Publish returns %v, the log is %q", there, err, &log)
		}
	}
}
