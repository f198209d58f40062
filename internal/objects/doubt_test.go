package objects

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
)

// said is a bucket whose requests end as they are told to.
type said struct {
	Bucket
	put          error
	doubt        bool // an attempt of Put had no answer
	info         Info
	head, delete error
	deleted      bool
}

func (b *said) Put(ctx context.Context, _ string, _ []byte, mark string, _ Condition) error {
	b.info.Mark = map[bool]string{true: mark}[b.info.Mark == "ours"]
	if b.doubt {
		Attempted(ctx, nil, errors.New("cut"))
	}
	Attempted(ctx, &http.Response{StatusCode: http.StatusForbidden}, nil)
	return b.put
}

func (b *said) Head(context.Context, string) (Info, error) { return b.info, b.head }

func (b *said) Delete(context.Context, string) error { b.deleted = true; return b.delete }

// A commit that fails says whether the object has its name, may have it, or has not; Abort takes back
// what is the writer's own and replaces nothing.
func TestCommitInDoubt(t *testing.T) {
	refused, denied := errors.New("refused"), ErrDenied
	for name, c := range map[string]struct {
		b             said
		replaces      bool
		commit, abort string // "": no error; else "error", "there" or "not known"
		deletes       bool
	}{
		"refused":                {b: said{put: refused, head: denied}, commit: "error"},
		"refused, and not there": {b: said{put: refused, head: ErrAbsent}, commit: "error"},
		"lost, and there":        {b: said{put: refused, doubt: true, info: Info{Mark: "ours"}}},
		"lost, and another's": {b: said{put: ErrCondition, doubt: true, info: Info{Mark: "theirs"}},
			commit: "error"},
		"lost, and not known": {b: said{put: ErrCondition, doubt: true, head: denied}, commit: "not known",
			abort: "not known"},
		"other bytes": {b: said{put: ErrDamaged, doubt: true, info: Info{Mark: "ours"}},
			commit: "error", deletes: true},
		"other bytes that stay": {
			b: said{put: ErrDamaged, doubt: true, info: Info{Mark: "ours"}, delete: denied}, commit: "error", abort: "there",
			deletes: true},
		"other bytes in another one's place": {b: said{put: ErrDamaged, doubt: true, info: Info{Mark: "ours"}},
			replaces: true, commit: "error", abort: "there"},
	} {
		w, err := NewWriter(t.Context(), &said{head: ErrAbsent}, "k", false)
		if err != nil {
			t.Fatal(err)
		}
		w.bucket, w.cond.Absent = &c.b, !c.replaces
		for _, got := range []struct {
			what, want string
			err        error
		}{{"commit", c.commit, w.Commit()}, {"abort", c.abort, w.Abort()}} {
			var named *NamedError
			is := ""
			switch {
			case errors.As(got.err, &named) && named.There():
				is = "there"
			case errors.As(got.err, &named):
				is = "not known"
			case got.err != nil:
				is = "error"
			}
			if is != got.want || named != nil && errors.Is(got.err, ErrCondition) {
				t.Errorf("%s: %s: %q, %v, want %q", name, got.what, is, got.err, got.want)
			}
		}
		if c.b.deleted != c.deletes {
			t.Errorf("%s: deleted: %v", name, c.b.deleted)
		}
	}
}

// Only an answer that refuses, or a server that was never reached, leaves no doubt.
func TestAttempted(t *testing.T) {
	for _, c := range []struct {
		status int
		err    error
		doubt  bool
	}{
		{403, nil, false}, {404, nil, false}, {412, nil, false}, {301, nil, false}, {308, nil, false}, {499, nil, false},
		{200, nil, true}, {299, nil, true}, {408, nil, true}, {500, nil, true}, {503, nil, true},
		{0, errors.New("cut"), true}, {0, &net.OpError{Op: "read"}, true}, {0, &net.OpError{Op: "dial"}, false},
	} {
		ctx, doubt := doubting(t.Context())
		var answer *http.Response
		if c.err == nil {
			answer = &http.Response{StatusCode: c.status}
		}
		Attempted(ctx, answer, c.err)
		if doubt.Load() != c.doubt {
			t.Errorf("%d, %v: doubt %v", c.status, c.err, doubt.Load())
		}
		Attempted(t.Context(), answer, c.err) // nobody asks
	}
}
