package account

import (
	"errors"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

type committing struct{ commit, abort error }

func (c committing) Commit() error { return c.commit }
func (c committing) Abort() error  { return c.abort }

// Commit asks what could be taken back before it says what has become of a release.
func TestCommitSaysWhatIsThere(t *testing.T) {
	failed, unknown, there := errors.New("failed\nhere"), &objects.NamedError{Err: errors.New("cut")},
		&objects.NamedError{Known: true, Err: errors.New("late")}
	for name, c := range map[string]struct {
		commit, abort          error
		named, unsure, nothing bool
	}{
		"done":                          {},
		"there all the same":            {commit: there, named: true},
		"failed":                        {commit: failed, nothing: true},
		"failed, and not taken back":    {commit: failed, abort: errors.New("an upload stays"), nothing: true},
		"failed, and there":             {commit: failed, abort: there, named: true},
		"not known, and taken back":     {commit: unknown, nothing: true},
		"not known, and there":          {commit: unknown, abort: there, named: true},
		"not known, and not known then": {commit: unknown, abort: unknown, unsure: true},
	} {
		sink := committing{c.commit, c.abort}
		err := Commit("sink", sink, []string{"s3://b/k"}, new(Files))
		var published *PublishedError
		unsure := errors.As(err, &published)
		if c.nothing && !strings.HasPrefix(err.Error(), "sink: ") || c.named && strings.HasPrefix(err.Error(), "sink: ") {
			t.Errorf("%s: the words are %v", name, err)
		}
		if Named(err) != c.named || unsure != c.unsure || (err != nil && !Named(err) && !unsure) != c.nothing {
			t.Errorf("%s: %v", name, err)
		}
		if unsure &&
			(!strings.Contains(err.Error(), "the release may be published (s3://b/k)") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: the words are %v", name, err)
		}
		if ended := AndAborted(err, func() error { return failed }); unsure && ended != err || c.nothing &&
			!errors.Is(ended, failed) {
			t.Errorf("%s: with what could not be removed: %v", name, ended)
		}
	}
}
