package text

import (
	"fmt"
	"io"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Decoder makes UTF-8 of what a reader gives.
type Decoder func(io.Reader) io.Reader

// DecoderOf returns the decoder of a character encoding, by a name of the WHATWG
// Encoding Standard: windows-1252, iso-8859-1, utf-16, shift_jis. It is nil for
// UTF-8, which needs none. A byte that the encoding does not have becomes U+FFFD.
func DecoderOf(name string) (Decoder, error) {
	if name == "" {
		return nil, nil
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		return nil,
			fmt.Errorf("must be the name of a character encoding, such as utf-8, windows-1252, iso-8859-15 or utf-16, got %q",
				name)
	}
	known, err := htmlindex.Name(e)
	if err != nil {
		return nil, err
	}
	switch known {
	case "utf-8":
		return nil, nil
	case "utf-16le":
		e = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case "replacement", "x-user-defined":
		return nil, fmt.Errorf("must be the name of a character encoding of text, got %q", name)
	}
	return func(r io.Reader) io.Reader { return transform.NewReader(r, e.NewDecoder()) }, nil
}
