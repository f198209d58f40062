package publish

import (
	"crypto/sha256"
	"hash"
	"io"
	"os"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// sequential is a file that is written from its beginning to its end. It digests what it is
// given, so that a release need not be read again for its digest.
type sequential struct {
	*os.File
	hash  hash.Hash // nil: nothing was written yet
	bytes int64
	other bool // something was written in another way: the file must be read
}

// apart is the length from which on bytes are digested while they are written: whoever writes has one
// goroutine for it, for which the others wait.
const apart = 32 << 10

// Write implements io.Writer.
func (s *sequential) Write(p []byte) (int, error) {
	if s.hash == nil {
		s.hash = sha256.New()
	}
	var digested sync.WaitGroup
	if len(p) >= apart {
		digested.Go(func() {
			defer bug.Guard()
			s.hash.Write(p)
		})
	}
	n, err := s.File.Write(p)
	switch {
	case len(p) < apart:
		s.hash.Write(p[:n])
	case n < len(p):
		s.other = true // more was digested than written
	}
	digested.Wait()
	s.bytes += int64(n)
	return n, err
}

// WriteString implements io.StringWriter.
func (s *sequential) WriteString(text string) (int, error) { return s.Write([]byte(text)) }

// ReadFrom implements io.ReaderFrom, without which io.Copy would pass by Write.
func (s *sequential) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{s}, r)
}

// WriteAt implements io.WriterAt.
func (s *sequential) WriteAt(p []byte, at int64) (int, error) {
	s.other = true
	return s.File.WriteAt(p, at)
}

// Seek implements io.Seeker.
func (s *sequential) Seek(offset int64, whence int) (int64, error) {
	s.other = true
	return s.File.Seek(offset, whence)
}

// Truncate changes the size of the file.
func (s *sequential) Truncate(size int64) error {
	s.other = true
	return s.File.Truncate(size)
}

// content is what was written; known is false where the file must be read for that: it was
// written in another way too, or does not have the size that it should have.
func (s *sequential) content() (c FileContent, known bool) {
	if s.other {
		return c, false
	}
	info, err := system.stat(s.File)
	if err != nil || info.Size() != s.bytes {
		return c, false
	}
	if s.hash == nil {
		s.hash = sha256.New()
	}
	return FileContent{Bytes: s.bytes, SHA256: sum(s.hash)}, true
}
