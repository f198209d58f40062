package publish

import (
	"errors"
	"sync"
)

// settling is how many complete files of a folder are synced at once. Syncs that the disk is
// asked for together share one commit of the file system's journal, so that a thousand small
// files take little longer than some tens of them; each holds a file open.
const settling = 16

// settler syncs and closes complete files beside the writing of those that follow.
type settler struct {
	slots chan struct{}
	all   sync.WaitGroup
	mu    sync.Mutex
	err   error // the first
}

// Settle takes a complete part over: it is synced and closed, of a folder of this machine in
// the background, and must not be touched any more. The error is that of any part before it
// which could not be. Settled waits for all; nothing gets its name before.
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
