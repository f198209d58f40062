package compress

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Codec is how a file is compressed.
type Codec string

const (
	None Codec = "none"
	Gzip Codec = "gzip"
	Zstd Codec = "zstd"
)

// Codecs lists the names that a configuration may use.
var Codecs = []string{string(None), string(Gzip), string(Zstd)}

// Of returns the codec that a path's extension names: .gz, .zst or neither.
func Of(path string) Codec {
	switch p := strings.ToLower(path); {
	case strings.HasSuffix(p, ".gz"):
		return Gzip
	case strings.HasSuffix(p, ".zst"):
		return Zstd
	}
	return None
}

// Extension returns what the codec adds to a file's name.
func (c Codec) Extension() string {
	switch c {
	case Gzip:
		return ".gz"
	case Zstd:
		return ".zst"
	}
	return ""
}

// Suffixes are what the codecs add to a file's name.
var Suffixes = []string{Gzip.Extension(), Zstd.Extension()}

// Extensions returns each extension alone and with those of the codecs added.
func Extensions(exts ...string) []string {
	var all []string
	for _, e := range exts {
		all = append(all, e, e+Gzip.Extension(), e+Zstd.Extension())
	}
	return all
}

// Sniff returns the codec whose mark the data begin with. No UTF-8 text begins
// with either mark.
func Sniff(head []byte) Codec {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return Gzip
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return Zstd
	}
	return None
}

// ErrTruncated says that a compressed stream ends before its end mark.
var ErrTruncated = errors.New("the compressed stream is cut off")

// NewReader returns the decompressed content of r, which it does not close.
// Nothing is read before the first Read. Close ends the goroutine; where that
// one waits for r, it ends when r returns. A stream that is cut off, an empty
// one included, is ErrTruncated.
func NewReader(r io.Reader, c Codec) io.ReadCloser {
	switch c {
	case Gzip:
		return Ahead(&lazy{src: r, open: func(r io.Reader) (io.Reader, func(), error) {
			z, err := gzip.NewReader(r)
			return z, func() {}, err
		}})
	case Zstd:
		return Ahead(&lazy{src: r, open: func(r io.Reader) (io.Reader, func(), error) {
			// One goroutine of ours is enough; 512 MiB is what zstd --long=29 makes.
			z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(512<<20))
			if err != nil {
				return nil, nil, err
			}
			return z, z.Close, nil
		}})
	}
	return io.NopCloser(r)
}

// lazy opens a decompressor at the first Read, since its header may have to be
// waited for, and turns every way of being cut off into ErrTruncated.
type lazy struct {
	src   io.Reader
	open  func(io.Reader) (io.Reader, func(), error)
	r     io.Reader
	close func()
	err   error
	some  bool // src has given at least one byte
}

func (l *lazy) Read(p []byte) (n int, err error) {
	if l.err != nil {
		return 0, l.err
	}
	if l.r == nil {
		l.r, l.close, err = l.open(source{l})
		if err != nil {
			// Both decompressors call a header that is not there a plain end.
			l.err = ErrTruncated
			if !errors.Is(err, io.EOF) {
				l.err = cutOff(err)
			}
			return 0, l.err
		}
	}
	n, err = l.r.Read(p)
	if err != nil {
		l.err = cutOff(err)
		if !l.some {
			l.err = ErrTruncated
		}
		l.close()
	}
	return n, l.err
}

// source is src as the decompressor sees it.
type source struct{ *lazy }

func (s source) Read(p []byte) (int, error) {
	n, err := s.src.Read(p)
	s.some = s.some || n > 0
	return n, err
}

func (l *lazy) stop() {
	if l.r != nil && l.err == nil {
		l.err = io.ErrClosedPipe
		l.close()
	}
}

func cutOff(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTruncated
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	return fmt.Errorf("the compressed stream is damaged: %w", err)
}

// NewWriter compresses what is written to it into w. Close completes the stream
// and does not close w; it must be called once, also after an error.
func NewWriter(w io.Writer, c Codec) (io.WriteCloser, error) {
	switch c {
	case Gzip:
		z, err := gzip.NewWriterLevel(w, gzip.DefaultCompression)
		if err != nil {
			return nil, err
		}
		return behind(z), nil
	case Zstd:
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault),
			zstd.WithZeroFrames(true))
		if err != nil {
			return nil, err
		}
		return behind(z), nil
	}
	return plain{w}, nil
}

type plain struct{ io.Writer }

func (plain) Close() error { return nil }
