package publish

import (
	"errors"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// settling is how many complete files of a folder are synced at once. Syncs at the same time
// share one commit of the file system's journal, so that a thousand small files take little
// longer than some tens of them. Each file stays open meanwhile.
const settling = 16

// settler syncs and closes complete files while the following ones are written.
type settler struct {
	slots chan struct{}
	all   sync.WaitGroup
	mu    sync.Mutex
	err   error // the first
}

// Settle syncs and closes a complete part, of a folder of this machine in the background; the
// caller must not use it any more. The error is that of any earlier part that could not be
// synced. Settled waits for all of them; nothing gets its name before.
func (d *Dir) Settle(p Part) error {
	if d.objects != nil {
		return errors.Join(p.Sync(), p.Close())
	}
	s := &d.settler
	if s.slots == nil {
		s.slots = make(chan struct{}, settling)
	}
	if err := s.failed(); err != nil {
		return errors.Join(err, p.Close())
	}
	s.slots <- struct{}{}
	s.all.Go(func() {
		defer func() { <-s.slots }()
		defer bug.Guard()
		if err := errors.Join(p.Sync(), p.Close()); err != nil {
			s.fail(err)
		}
	})
	return nil
}

// Settled waits until every part that Settle has taken over is on the disk, and returns the
// first error of any of them.
func (d *Dir) Settled() error {
	d.settler.all.Wait()
	return d.settler.failed()
}

func (s *settler) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

func (s *settler) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
