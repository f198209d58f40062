package csv

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

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/compress"
)

// Fields of columns without a mask keep their exact bytes: for the dialects of RFC 4180 and others,
// with no column masked and with one column masked.
func TestCarriedBytes(t *testing.T) {
	for _, c := range []struct {
		name, in string
		source   SourceConfig
		mask     []string
		want     string // "": as in the input
	}{
		{name: "plain", in: "a,b,c\n1,x,2.50\n3,y,4.10\n"},
		{name: "masked", in: "a,b,c\n1,x,2.50\n3,y,4.10\n", mask: []string{"a"}, want: "a,b,c\n2,x,2.50\n4,y,4.10\n"},
		{name: "masked first and last", in: "a,b,c\n1,x,2.50\n3,y,4.10\n", mask: []string{"a", "c"},
			want: "a,b,c\n2,x,3.5\n4,y,5.1\n"},
		{name: "masked neighbours", in: "a,b,c\n1,2,x\n3,4,y\n", mask: []string{"a", "b"}, want: "a,b,c\n2,3,x\n4,5,y\n"},
		{name: "CRLF", in: "a,b\r\n1,x\r\n2,y\r\n", mask: []string{"a"}, want: "a,b\r\n2,x\r\n3,y\r\n"},
		{name: "CRLF last masked", in: "b,a\r\nx,1\r\ny,2\r\n", mask: []string{"a"}, want: "b,a\r\nx,2\r\ny,3\r\n"},
		{name: "mixed line ends", in: "a,b\n1,x\r\n2,y\n"},
		{name: "no line end at the end", in: "a,b\n1,x\n2,y", mask: []string{"a"}, want: "a,b\n2,x\n3,y\n"},
		{name: "no line end, CRLF", in: "a,b\r\n1,x\r\n2,y", want: "a,b\r\n1,x\r\n2,y\r\n"},
		{name: "BOM", in: "\xef\xbb\xbfa,b\n1,x\n", mask: []string{"a"}, want: "\xef\xbb\xbfa,b\n2,x\n"},
		{name: "BOM before a quoted name", in: "\xef\xbb\xbf\"a\nb\",c\n1,x\n"},
		{name: "quotes", in: "\"a\",b\n\"1\",\"x, \"\"y\"\"\n\"\n\"\n2\n\",z\n"},
		{name: "quotes and mask", in: "a,b\n1,\"x, \"\"y\"\"\nz\"\n\"2\",\"\"\n", mask: []string{"a"},
			want: "a,b\n2,\"x, \"\"y\"\"\nz\"\n3,\"\"\n"},
		{name: "quoted CRLF", in: "a,b\r\n1,\"x\r\ny\"\r\n", mask: []string{"a"}, want: "a,b\r\n2,\"x\r\ny\"\r\n"},
		{name: "quoted last", in: "a,b\n1,\"x\"\n2,\"y\"", mask: []string{"a"}, want: "a,b\n2,\"x\"\n3,\"y\"\n"},
		{name: "blank lines", in: "a,b\n\n1,x\n\r\n\n2,y\n\n", mask: []string{"a"}, want: "a,b\n2,x\n3,y\n"},
		{name: "blank line and half records", in: "a,b\n1\n\n2,y\n", want: "a,b\n2,y\n"},
		{name: "one column", in: "a\n1\n\n3\n", mask: []string{"a"}, want: "a\n2\n\n4\n"},
		{name: "nulls", in: "a,b\n,x\n2,\n,\n", mask: []string{"a"}, want: "a,b\n,x\n3,\n,\n"},
		{name: "all in quotes", in: "\"a\",\"b\"\n\"1\",\"\"\n\"\",\"x\"\n", mask: []string{"a"},
			want: "\"a\",\"b\"\n2,\"\"\n,\"x\"\n"},
		{name: "null words", in: "a,b\nNA,x\n2,NA\n.,.\n", source: SourceConfig{Nulls: []string{"NA", "."}},
			mask: []string{"a"}, want: "a,b\nNA,x\n3,NA\nNA,.\n"},
		{name: "masked onto a null word", in: "a,b\n-10,x\n-9,y\n", source: SourceConfig{Nulls: []string{"-9"}},
			mask: []string{"a"}, want: "a,b\n\"-9\",x\n-9,y\n"},
		{name: "tabs", in: "a\tb\n1\tx,y\n", source: SourceConfig{Delimiter: "\t"}, mask: []string{"a"},
			want: "a\tb\n2\tx,y\n"},
		{name: "semicolons", in: "a;b\n1;x\n", source: SourceConfig{Delimiter: ";"}, mask: []string{"a"}, want: "a;b\n2;x\n"},
		{name: "no header", in: "1,x\n2,y\n", source: SourceConfig{Header: yes(false)}, mask: []string{"c1"},
			want: "2,x\n3,y\n"},
		{name: "names", in: "1,x\n2,y\n", source: SourceConfig{Header: yes(false), Names: []string{"n", "s"}},
			mask: []string{"n"}, want: "2,x\n3,y\n"},
		{name: "header only", in: "a,b\n"},
		{name: "header without line end", in: "a,b", want: "a,b\n"},
		{name: "latin-1 untouched", in: "a,b\n1,Z\xfcrich\n", mask: []string{"a"}, want: "a,b\n2,Z\xfcrich\n"},
		{name: "lone carriage returns", in: "a,b\n1,x\ry\n"},
		{name: "name that is missing", in: ",b\n1,x\n", mask: []string{"c1"}, want: ",b\n2,x\n"},
		{name: "wide", in: strings.Repeat("abcdefgh,", 30) + "n\n" + strings.Repeat("x,", 30) + "1\n",
			source: SourceConfig{Header: yes(false)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want == "" {
				want = c.in
			}
			for _, cut := range []connectors.Cut{{}, {Records: 1, Exact: true}, {Records: 2}} {
				res, err := job{source: c.source, mask: c.mask, cut: cut, decimal: 2}.run(t, c.in)
				if err != nil || res.out != want {
					t.Errorf("%v: got %q, %v; want %q", cut, res.out, err, want)
				}
			}
		})
	}
}

// Dropped or reordered columns leave no trace.
func TestReleaseOrder(t *testing.T) {
	in := "\"id\",a,b,c\n\"canary1\",1,x,\"q, 1\"\ncanary2,2,,z\n"
	for _, c := range []struct {
		release, mask []string
		want          string
	}{
		{[]string{"a", "b", "c"}, []string{"a"}, "a,b,c\n2,x,\"q, 1\"\n3,,z\n"},
		{[]string{"c", "a"}, nil, "c,a\n\"q, 1\",1\nz,2\n"},
		{[]string{"c", "a"}, []string{"a"}, "c,a\n\"q, 1\",2\nz,3\n"},
		{[]string{"b"}, nil, "b\nx\n\n"},
		{[]string{"a", "c"}, []string{"a"}, "a,c\n2,\"q, 1\"\n3,z\n"},
	} {
		for _, decode := range []bool{false, true} {
			res, err := job{release: c.release, mask: c.mask, decode: decode, decimal: 0}.run(t, in)
			if err != nil || res.out != c.want || strings.Contains(res.out, "canary") {
				t.Errorf("%q, decoded %v: got %q, %v; want %q", c.release, decode, res.out, err, c.want)
			}
		}
	}
}

func TestSinkDialects(t *testing.T) {
	in := "a,b,c\n1,\"x, y\",\n2,\"\",\"q\"\"\"\n"
	na := "NA"
	for _, c := range []struct {
		name string
		sink SinkConfig
		want string
	}{
		{"semicolon", SinkConfig{Delimiter: ";"}, "a;b;c\n1;x, y;\n2;\"\";\"q\"\"\"\n"},
		{"all quoted", SinkConfig{Quoting: "all"}, "\"a\",\"b\",\"c\"\n\"1\",\"x, y\",\n\"2\",\"\",\"q\"\"\"\n"},
		{"null", SinkConfig{Nulls: &na}, "a,b,c\n1,\"x, y\",NA\n2,\"\",\"q\"\"\"\n"},
		{"CRLF", SinkConfig{LineEnding: "crlf"}, "a,b,c\r\n1,\"x, y\",\r\n2,\"\",\"q\"\"\"\r\n"},
		{"no header", SinkConfig{Header: yes(false)}, "1,\"x, y\",\n2,\"\",\"q\"\"\"\n"},
	} {
		res, err := job{sink: c.sink}.run(t, in)
		if err != nil || res.out != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.name, res.out, err, c.want)
		}
	}
}

func TestTypes(t *testing.T) {
	res, err := job{source: SourceConfig{Types: map[string]string{"zip": "int64", "d": "decimal(6,2)"}}}.run(t,
		"i,f,b,d,day,time,s,plz,big,zip,n\n1,1,true,1.5,2024-01-01,2024-01-01T10:00:00,1,01234,9223372036854775808,7,\n-5,2.5,false,2,2024-02-01,2024-01-01 10:00:00.5,x,12345,1,8,\n")
	want := []string{"int64", "float64", "bool", "decimal(6, 2)", "date32", "timestamp[us]", "utf8", "utf8", "utf8",
		"int64", "utf8"}
	if err != nil || !slices.Equal(res.types, want) {
		t.Errorf("got %q, %v", res.types, err)
	}
}

// Every value counts for the type of a column, even that of the last of many records.
func TestTypesOfTheWholeFile(t *testing.T) {
	in := "a,b,c\n" + strings.Repeat("1,2,3\n", 400_000) + "1,2.5,x\n"
	src, err := openText(t, SourceConfig{}, in)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var got []string
	for _, f := range src.Schema().Fields {
		got = append(got, f.Type.String())
	}
	if !slices.Equal(got, []string{"int64", "float64", "utf8"}) || src.Records() != 400_001 {
		t.Errorf("got %q, %d records", got, src.Records())
	}
}

func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		name, in string
		source   SourceConfig
		rejects  []string
		want     string
	}{
		{"too few fields", "a,b\n1,x\n2\n3,z\n", SourceConfig{}, []string{"2 : must have 2 fields, got 1"},
			"a,b\n2,x\n4,z\n"},
		{"too many fields", "a,b\n1,x,canary\n3,z\n", SourceConfig{}, []string{"1 : must have 2 fields, got 3"},
			"a,b\n4,z\n"},
		{"bare quote", "a,b\n1,can\"ary\n3,\"z\n\"\n", SourceConfig{},
			[]string{"1 : a quote within a field that is not in quotes"}, "a,b\n4,\"z\n\"\n"},
		{"text after a quote", "a,b\n1,\"can\"ary\n3,z\n", SourceConfig{}, []string{"1 : text after a closing quote"},
			"a,b\n4,z\n"},
		{"bare quote, then a quoted line end", "a,b\nx\"y,\"p\nq\",1\n3,z\n",
			SourceConfig{Types: map[string]string{"a": "int64"}},
			[]string{"1 : a quote within a field that is not in quotes", "2 : a quote within a field that is not in quotes"},
			"a,b\n4,z\n"},
		{"not of its type", "a,b\n1,x\ncanary,y\n3,z\n", SourceConfig{Types: map[string]string{"a": "int64"}},
			[]string{"2 a: not a value of type int64"}, "a,b\n2,x\n4,z\n"},
		{"beyond 2^53", "a,b\n1,x\n9007199254740993,y\n", SourceConfig{},
			[]string{"2 a: integer beyond 2^53, which a float64 would change"}, "a,b\n2,x\n"},
		{"first and last", "a,b\nx\n1,x\n\"y\n", SourceConfig{Types: map[string]string{"a": "int64"}}, nil, ""},
		{"all", "a,b\n1\n2\n3\n", SourceConfig{Types: map[string]string{"a": "int64"}},
			[]string{"1 : must have 2 fields, got 1", "2 : must have 2 fields, got 1", "3 : must have 2 fields, got 1"},
			"a,b\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, cut := range []connectors.Cut{{}, {Records: 1, Exact: true}} {
				res, err := job{source: c.source, mask: []string{"a"}, cut: cut}.run(t, c.in)
				if c.want == "" {
					if err == nil || !strings.Contains(err.Error(), "truncated") {
						t.Errorf("got %v", err)
					}
					continue
				}
				if err != nil || res.out != c.want || !slices.Equal(res.rejects, c.rejects) {
					t.Errorf("got %q, %q, %v; want %q, %q", res.out, res.rejects, err, c.want, c.rejects)
				}
				if strings.Contains(fmt.Sprint(res.rejects), "canary") {
					t.Errorf("a value is in %q", res.rejects)
				}
			}
		})
	}
}

func TestInvalidUTF8WhereItMatters(t *testing.T) {
	res, err := job{decode: true}.run(t, "a,b\n1,Z\xfcrich\n2,Bern\n")
	if err != nil || res.out != "a,b\n2,Bern\n" || !slices.Equal(res.rejects, []string{"1 b: invalid UTF-8"}) {
		t.Errorf("got %q, %q, %v", res.out, res.rejects, err)
	}
}

func TestOpenErrors(t *testing.T) {
	for _, c := range []struct {
		in, want string
		source   SourceConfig
	}{
		{"", "the file is empty", SourceConfig{}},
		{"\n\n", "the file is empty", SourceConfig{}},
		{"\xef\xbb\xbf", "the file is empty", SourceConfig{}},
		{"", "names no columns", SourceConfig{Header: yes(false)}},
		{"a,b,a\n", "columns 1 and 3 are the same, and every name must be there once: the file seems to have no header",
			SourceConfig{}},
		{"Canaryname,4711.50\nb,1\n", "no header: the first record has values in the place of names (column 2)",
			SourceConfig{}},
		{"1;2,5;canary\n", "(column 1, column 2)", SourceConfig{Delimiter: ";"}},
		{"1,2,3,4,5,6,7\n", "(column 1, column 2, column 3, column 4, column 5 and 2 more)", SourceConfig{}},
		{"canary,NA\n", "(column 2)", SourceConfig{NA: []string{"NA"}}},
		{"canary,a@b\n", "(column 2)", SourceConfig{}},
		{"canary,123-45-6789\n", "(column 2)", SourceConfig{}},
		{"canary,12.03.1980\n", "(column 2)", SourceConfig{}},
		{"canary,2020-02-03T10:00:00Z\n", "(column 2)", SourceConfig{}},
		{"canary,3-Mar-2020\n", "(column 2)", SourceConfig{}},
		{"\"canary\",\" 7 \"\n", "(column 2)", SourceConfig{}},
		{"canary,b\r1,2\r", "the lines end with CR alone", SourceConfig{}},
		{"canary,b\r1,2\n3,4\n", "the lines end with CR alone", SourceConfig{}},
		{"canary,b\r1,2\r", "the lines end with CR alone", SourceConfig{Header: yes(false)}},
		{"sep=;\ncanary;b\n1;2\n", "the first line is sep=", SourceConfig{}},
		{"\"SEP=,\"\r\ncanary,b\r\n", "the first line is sep=", SourceConfig{}},
		{"a,\xff\n", "the name of column 2 is not valid UTF-8", SourceConfig{}},
		{"\xff\xfea\x00", "UTF-16", SourceConfig{}},
		{"a,\"b\n", "malformed", SourceConfig{}},
		{"a,b\n1,2\n", `types.bb: the file has no such column`, SourceConfig{Types: map[string]string{"bb": "int64"}}},
		{"1,2\n", "must have 3 fields, got 2", SourceConfig{Header: yes(false), Names: []string{"x", "y", "z"}}},
	} {
		src, err := openText(t, c.source, c.in)
		if err == nil {
			src.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "anary") {
			t.Errorf("%q: got %v, want %q", c.in, err, c.want)
		}
	}
}

// Names with digits are names; where the configuration says that there is a header, so is everything.
func TestNamesAreNotValues(t *testing.T) {
	for in, source := range map[string]SourceConfig{
		"a1,b_2020,x.1,V3,c 4,Q1/2019,3rd,,nan,true,may\n": {},
		"2019,2020\n1,2\n":        {Header: yes(true)},
		"1,2\n":                   {Header: yes(false)},
		"sepal,\"a\r\nb\"\n1,2\n": {},
		"separator=1,b\n1,2\n":    {},
	} {
		src, err := openText(t, source, in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		src.Close()
	}
}

// A second file without header shows nothing of its first record.
func TestSecondFileWithoutHeader(t *testing.T) {
	for second, want := range map[string]string{"3,4711.50,Canary\n4,5,z\n": "seems to have no header",
		"Canary,Canaries,x\n": "column 1 has another name", "id\n": "it must have 3 columns, got 1"} {
		dir := t.TempDir()
		for name, text := range map[string]string{"a.csv": "id,wage,name\n1,2.5,x\n", "b.csv": second} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := (&SourceConfig{Path: dir}).Open(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "anar") ||
			strings.Contains(err.Error(), "4711") {
			t.Errorf("%q: got %v, want %q", second, err, want)
		}
	}
}

func TestTruncated(t *testing.T) {
	for in, want := range map[string]string{
		"a,b\n1,x\n2,\"y":     "record 2: the file is truncated: a quoted field is not closed",
		"a,b\n1,x\n2":         "record 2: the file is truncated: must have 2 fields, got 1",
		"a,b\n1,\"x\n2,y\n":   "record 1: the file is truncated: a quoted field is not closed",
		"a,b\n1,x\n2,\"y\"\"": "record 2: the file is truncated: a quoted field is not closed",
	} {
		_, err := job{}.run(t, in)
		var at *connectors.RecordError
		if !errors.As(err, &at) || !strings.HasSuffix(at.Error(), want) {
			t.Errorf("%q: got %v", in, err)
		}
	}
}

func TestCompressed(t *testing.T) {
	data := string(microdataCSV(3000, true))
	for _, codec := range []compress.Codec{compress.Gzip, compress.Zstd} {
		dir := t.TempDir()
		var packed bytes.Buffer
		w, err := compress.NewWriter(&packed, codec)
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(data))
		w.Close()
		in := filepath.Join(dir, "in.csv"+codec.Extension())
		if err := os.WriteFile(in, packed.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, "out.csv"+codec.Extension())
		res, err := job{source: SourceConfig{Path: in}, sink: SinkConfig{Path: out}}.run(t, "")
		if err != nil || res.n != 3000 {
			t.Fatalf("%s: %d records, %v", codec, res.n, err)
		}
		again, err := job{source: SourceConfig{Path: out}, sink: SinkConfig{Path: filepath.Join(dir, "plain.csv")}}.run(t, "")
		if err != nil || again.out != data {
			t.Errorf("%s: the release differs from the input: %v", codec, err)
		}
		// Compressed input on stdin is recognised by its first bytes.
		res, err = job{source: SourceConfig{Path: "-", Stdin: bytes.NewReader(packed.Bytes())}}.run(t, "")
		if err != nil || res.out != data {
			t.Errorf("%s from stdin: %v", codec, err)
		}
		for _, cut := range []int{0, 1, 10, packed.Len() / 2, packed.Len() - 1} {
			if err := os.WriteFile(in, packed.Bytes()[:cut], 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := (job{source: SourceConfig{Path: in}}).run(t, ""); err == nil {
				t.Errorf("%s cut to %d bytes: no error", codec, cut)
			}
		}
	}
}

func TestStdinAndStdout(t *testing.T) {
	var out bytes.Buffer
	j := job{source: SourceConfig{Path: "-", Stdin: trickle("a,b\n1,x\n2,y\n")}, sink: SinkConfig{Path: "-", Stdout: &out},
		mask: []string{"a"}}
	res, err := j.run(t, "")
	if err != nil || out.String() != "a,b\n2,x\n3,y\n" || res.n != 2 {
		t.Errorf("got %q, %v", out.String(), err)
	}
	// A later value that does not fit the types detected at the start is malformed.
	in := "a,b\n" + strings.Repeat("1,2\n", peek/4) + "canary,2\n1,3\n"
	res, err = job{source: SourceConfig{Path: "-", Stdin: strings.NewReader(in)}, mask: []string{"a"}}.run(t, "")
	if err != nil || len(res.rejects) != 1 || strings.Contains(res.rejects[0], "canary") ||
		!strings.HasSuffix(res.out, "2,2\n2,3\n") {
		t.Errorf("got %q, %v", res.rejects, err)
	}
	src, err := (&SourceConfig{Path: "-", Stdin: strings.NewReader("a\n1\n")}).Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if src.Rewindable() || src.Records() != -1 {
		t.Error("stdin declares that it can be read again, or its length")
	}
	layout := j.layout(src, &SinkConfig{})
	for i, want := range []bool{true, false} {
		r, err := src.Read(context.Background(), layout, connectors.Cut{})
		if err == nil {
			_, err = r.Next(context.Background())
			r.Close()
		}
		if (err == nil) != want {
			t.Errorf("pass %d over stdin: %v", i+1, err)
		}
	}
}

const peek = 1 << 20

// A withheld release never reaches stdout.
func TestStdoutWithheld(t *testing.T) {
	var out bytes.Buffer
	ctx := context.Background()
	src, err := openText(t, SourceConfig{}, "a\n1\n")
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	to := &SinkConfig{Path: "-", Stdout: &out}
	snk, err := to.Create(ctx, connectors.Plan{Source: src, Layout: job{}.layout(src, to)})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(snk.Finish(ctx), snk.Abort(), snk.Commit()); err != nil || out.Len() > 0 {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

// A folder is released as a folder of files. Their names contain nothing of the source's names.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	for name, data := range map[string]string{"canary1.csv": "a,b\n1,x\n", "canary2.csv": "a,b\n",
		"sub/canary3.csv": "a,b\r\n3,z\r\n"} {
		os.MkdirAll(filepath.Dir(filepath.Join(in, name)), 0o777)
		if err := os.WriteFile(filepath.Join(in, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out")
	if _, err := (job{source: SourceConfig{Path: in}, sink: SinkConfig{Path: out, Compression: "none"},
		mask: []string{"a"}}).run(t, ""); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"part-00000.csv": "a,b\n2,x\n", "part-00001.csv": "a,b\n",
		"part-00002.csv": "a,b\r\n4,z\r\n"} {
		if p, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(p) != want {
			t.Errorf("%s: %q, %v", name, p, err)
		}
	}
	// Into one file: the streams one after another.
	one := filepath.Join(dir, "one.csv")
	res, err := job{source: SourceConfig{Path: in}, sink: SinkConfig{Path: one}, mask: []string{"a"}}.run(t, "")
	if err != nil || res.out != "a,b\n2,x\n4,z\r\n" {
		t.Errorf("got %q, %v", res.out, err)
	}
	if err := os.WriteFile(filepath.Join(in, "canary2.csv"), []byte("a,c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (job{source: SourceConfig{Path: in}}).run(t, ""); err == nil ||
		!strings.Contains(err.Error(), "column 2 has another name") {
		t.Errorf("files of different headers: %v", err)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		source SourceConfig
		want   string
	}{
		{SourceConfig{}, "path: must name"},
		{SourceConfig{Path: "x", Delimiter: ",,"}, "delimiter: must be one ASCII character"},
		{SourceConfig{Path: "x", Delimiter: "."}, "delimiter: must be one ASCII character"},
		{SourceConfig{Path: "x", Delimiter: "\""}, "quote: must not be the delimiter"},
		{SourceConfig{Path: "x", Nulls: []string{"", "a,b"}}, "nulls[1]: must not hold"},
		{SourceConfig{Path: "x", Names: []string{"a"}}, "names: must be left out"},
		{SourceConfig{Path: "x", Header: yes(false), Names: []string{"a", "a"}}, "names[1]: must be a name that no other"},
		{SourceConfig{Path: "x", Types: map[string]string{"a": "integer"}}, "types.a: must be one of"},
	} {
		if ps := c.source.Check(); len(ps) != 1 || !strings.HasPrefix(ps[0].Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.source, ps, c.want)
		}
	}
	for _, c := range []struct {
		sink SinkConfig
		want string
	}{
		{SinkConfig{}, "path: must name"},
		{SinkConfig{Path: "x", Quoting: "some"}, "quoting: must be one of"},
		{SinkConfig{Path: "x", LineEnding: "cr"}, "line_ending: must be one of"},
		{SinkConfig{Path: "x", Compression: "lz4"}, "compression: must be one of"},
		{SinkConfig{Path: "x", Delimiter: "ab"}, "delimiter: must be one"},
	} {
		if ps := c.sink.Check(); len(ps) != 1 || !strings.HasPrefix(ps[0].Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.sink, ps, c.want)
		}
	}
}
