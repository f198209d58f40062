package parquet

import (
	"io"
	"os"
)

// spool stores pages of a row group that wait for its end, beyond those that are to be kept in
// memory, in a file without a name. If there is no disk space, they stay in memory.
type spool struct {
	file *os.File // nil: not created yet
	at   int64    // where the next page goes
	full bool     // the file is full, or could not be created
}

// spooled is the place of a page in the spool.
type spooled struct {
	at int64
	n  int // 0: it is in memory
}

// keep moves the pages of a row group out of memory.
func (s *spool) keep(g *pendingGroup) {
	if s.full {
		return
	}
	if s.file == nil && !s.make() {
		return
	}
	for _, pages := range g.pages {
		for _, p := range pages {
			if p.spooled.n > 0 {
				continue
			}
			if n, err := s.file.WriteAt(p.stored, s.at); err != nil || n < len(p.stored) {
				s.full = true
				return
			}
			p.spooled = spooled{s.at, len(p.stored)}
			s.at += int64(len(p.stored))
			p.free()
		}
	}
	g.held = 0
}

func (s *spool) make() bool {
	f, err := os.CreateTemp("", ".sdlfilter-*")
	if err == nil {
		if err = os.Remove(f.Name()); err != nil {
			f.Close()
		} else {
			s.file = f
		}
	}
	s.full = err != nil
	return err == nil
}

// fetch brings a page back to memory.
func (s *spool) fetch(p *encodedPage) error {
	if p.spooled.n == 0 {
		return nil
	}
	p.buffer = getBuffer(p.spooled.n)
	if n, err := s.file.ReadAt(p.buffer, p.spooled.at); n < len(p.buffer) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	p.stored, p.spooled = p.buffer, spooled{}
	return nil
}

// close releases the disk space. Pages that were not fetched are lost.
func (s *spool) close() error {
	f := s.file
	*s = spool{}
	if f == nil {
		return nil
	}
	return f.Close()
}
