package iceberg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// store is a table's folder in object storage. No lock tells there whether a run lives, so that nothing rests on it:
//
//  1. A run enters its claim right before its first object gets its name.
//  2. Another run that finds a claim older than deadAfter writes over it, commits, and then removes what has its mark
//     and is in no snapshot.
//  3. Before each try to commit, and after it has read the table that it builds on, a run looks whether its claim is as
//     it wrote it.
//
// A run that was only slow thus either finds its claim written over, or has read the table before the other one has
// committed; then the catalog refuses it.
type store struct {
	bucket  objects.Bucket
	prefix  string // of the keys; ends in a slash
	mark    string
	entered bool
	claim   objects.Info
	since   time.Time // by this machine's clock
}

const (
	// deadAfter is how old the claim is of a run that is taken for dead, by the server's clock.
	deadAfter = time.Hour
	// liveFor is how long after its claim a run tries to commit.
	liveFor = deadAfter / 2
)

// storeOf opens the folder of a table, and asks whether objects can be written there.
func storeOf(ctx context.Context, root, mark string) (*store, error) {
	name, err := objectpath.Parse(root)
	if err != nil {
		return nil, fmt.Errorf("the table's location %w", err)
	}
	s := &store{prefix: strings.TrimRight(name.Key, "/") + "/", mark: mark}
	if s.bucket, err = objects.Open(ctx, name); err != nil {
		return nil, err
	}
	if err := objects.Probe(ctx, s.bucket, s.claimOf(mark)); err != nil {
		return nil, fmt.Errorf("the folder of the table cannot be written: %w", err)
	}
	return s, nil
}

func (s *store) claimOf(mark string) string {
	return s.prefix + dataFolder + "/" + publish.TempName(mark+claimEnd)
}

// enter enters the run's claim, and takes over those of runs that are taken for dead.
func (s *store) enter(ctx context.Context, text string) (dead []grave, err error) {
	s.entered, s.since = true, time.Now()
	own := s.claimOf(s.mark)
	err = objects.PutWhole(ctx, s.bucket, own, []byte(text), objects.Condition{Absent: true})
	if err == nil {
		s.claim, err = s.bucket.Head(ctx, own)
	}
	if err != nil {
		return nil, fmt.Errorf("the claim of this run: %w", err)
	}
	var old []objects.Info
	claims := s.prefix + dataFolder + "/"
	err = s.bucket.List(ctx, claims+"."+markPrefix, func(o objects.Info) error {
		if mark := claimMark(strings.TrimPrefix(o.Key, claims)); mark != "" && s.claim.Modified.Sub(o.Modified) > deadAfter {
			old = append(old, o)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, o := range old {
		text, err := s.read(ctx, o)
		if err == nil {
			over := []byte(text + "\ntaken over by " + s.mark)
			err = objects.PutWhole(ctx, s.bucket, o.Key, over, objects.Condition{ETag: o.ETag})
		}
		if err == nil {
			dead = append(dead, grave{mark: claimMark(strings.TrimPrefix(o.Key, claims)), text: text})
		} // else it is another run's, or stays
	}
	return dead, nil
}

// read returns the first line of a claim.
func (s *store) read(ctx context.Context, o objects.Info) (string, error) {
	body, err := s.bucket.Get(ctx, o.Key, o.ETag, 0, min(o.Size, 1<<10))
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, 1<<10))
	line, _, _ := strings.Cut(string(text), "\n")
	return line, err
}

// still is an error if the claim is not as this run has written it, or old.
func (s *store) still(ctx context.Context) error {
	now, err := s.bucket.Head(ctx, s.claimOf(s.mark))
	switch {
	case err != nil && !errors.Is(err, objects.ErrAbsent):
		return fmt.Errorf("the claim of this run: %w", err)
	case err != nil, now.ETag != s.claim.ETag:
		return errors.New("another run has taken this one for dead, and removes its files; run again")
	case time.Since(s.since) > liveFor:
		return fmt.Errorf("it took more than %v to commit, so that other runs may take this one for dead; run again", liveFor)
	}
	return nil
}

// forget removes the claim of a run.
func (s *store) forget(ctx context.Context, mark string) error {
	return s.bucket.Delete(ctx, s.claimOf(mark))
}

// remove removes the objects whose keys begin so; which: those of these names alone.
func (s *store) remove(ctx context.Context, prefix string, which func(name string) bool) error {
	var keys []string
	err := s.bucket.List(ctx, s.prefix+prefix, func(o objects.Info) error {
		if which == nil || which(strings.TrimPrefix(o.Key, s.prefix+prefix)) {
			keys = append(keys, o.Key)
		}
		return nil
	})
	for _, key := range keys {
		err = errors.Join(err, s.bucket.Delete(ctx, key))
	}
	return err
}
