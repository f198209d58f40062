package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// What a released file carries beside its records.
var contentAttacks = []attack{
	{"parquet-metadata", "reads statistics, indexes, filters and key-value metadata of a released file", metadata},
	{"parquet-footer", "enlarges the last carried chunk over the page index of dropped columns", footer},
	{"parquet-dictionary", "reads a carried dictionary's entries that no released record has", dictionary},
	{"csv-remains", "looks for dropped columns and original values anywhere in a text release", remains},
}

// respondent is a record of a Parquet source. Kind is the last column.
type respondent struct {
	ID   string  `parquet:"id"`
	Wage float64 `parquet:"wage"`
	Kind string  `parquet:"kind,plain"`
}

const parquetPipeline = `version: 1
key: {file: k}
source: {parquet: {path: in.parquet}}
columns: {id: {role: identifier}, wage: {role: sensitive, decimals: 2}, kind: {role: other}}
masks: [{noise: {columns: [wage], sd: 200}}]
sink: {parquet: {path: out.parquet, compression: none}}
assess: {replicates: 2}
`

// respondents writes them uncompressed, so that whatever of them is in the release
// can be seen in its bytes.
func (s *scene) respondents(n int) ([]respondent, []byte, error) {
	x := s.wages(n)
	rows := make([]respondent, n)
	for i := range rows {
		// More digits than are released, so that no released value is one by chance.
		rows[i] = respondent{serial(i), x[i] + 0.00123, "kind" + string('a'+rune(i%5))}
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[respondent](&b, parquet.PageBufferSize(2000), parquet.MaxRowsPerRowGroup(int64(n)/2),
		parquet.DataPageStatistics(true), parquet.KeyValueMetadata("first respondent", serial(0)),
		parquet.BloomFilters(parquet.SplitBlockFilter(10, "id")))
	_, err := w.Write(rows)
	err = errors.Join(err, w.Close())
	return rows, b.Bytes(), err
}

// inBytes counts the identifiers and the original wages in a file. A wage's double is
// there by chance with a probability of size·2⁻⁶⁴ each.
func (s *scene) inBytes(name string, rows []respondent) (ids, wages int, err error) {
	text, err := os.ReadFile(s.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	for _, r := range rows {
		if bytes.Contains(text, []byte(r.ID)) {
			ids++
		}
		var double [8]byte
		if _, err := binary.Encode(double[:], binary.LittleEndian, r.Wage); err != nil {
			return 0, 0, err
		}
		if bytes.Contains(text, double[:]) {
			wages++
		}
	}
	return ids, wages, nil
}

func metadata(s *scene) error {
	rows, file, err := s.respondents(2000)
	if err != nil {
		return err
	}
	if err := errors.Join(s.key(), s.write("in.parquet", string(file))); err != nil {
		return err
	}
	if _, _, err := s.release(parquetPipeline, 0); err != nil {
		return err
	}
	ids, wages, err := s.inBytes("out.parquet", rows)
	s.gained(ids, "%d identifiers in the bytes of the release", ids)
	s.gained(wages, "%d original wages in the bytes of the release", wages)
	return err
}

// reFoot gives a Parquet file another footer.
func reFoot(file []byte, change func(m *format.FileMetaData, data int64)) ([]byte, error) {
	n := int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	data := len(file) - 8 - n
	var m format.FileMetaData
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), file[data:data+n], &m); err != nil {
		return nil, err
	}
	change(&m, int64(data))
	text, err := thrift.Marshal(new(thrift.CompactProtocol), &m)
	if err != nil {
		return nil, err
	}
	out := append(bytes.Clone(file[:data]), text...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(text)))
	return append(out, "PAR1"...), nil
}

func footer(s *scene) error {
	rows, file, err := s.respondents(2000)
	if err != nil {
		return err
	}
	if err := s.key(); err != nil {
		return err
	}
	for _, values := range []bool{false, true} {
		crafted, err := reFoot(file, func(m *format.FileMetaData, data int64) {
			groups := m.RowGroups
			last := groups[len(groups)-1].Columns
			c := &last[len(last)-1].MetaData
			c.TotalCompressedSize = data - c.DataPageOffset
			if values { // whatever a reader holds the size against
				c.TotalUncompressedSize = c.TotalCompressedSize
			}
		})
		if err != nil {
			return err
		}
		if err := errors.Join(s.write("in.parquet", string(crafted)), os.RemoveAll(s.path("out.parquet"))); err != nil {
			return err
		}
		status, _, err := s.release(parquetPipeline, 0, 1)
		if err != nil {
			return err
		}
		ids, wages, err := s.inBytes("out.parquet", rows)
		if err != nil {
			return err
		}
		s.gained(ids+wages, "%d identifiers and %d original wages, status %d", ids, wages, status)
	}
	return nil
}

type inVillage struct {
	Village string `parquet:"village,dict"`
}

// dictionary makes a file whose records were filtered by their pages: the
// dictionary still has the villages of those that are gone.
func dictionary(s *scene) error {
	const villages = 50
	rows := make([]inVillage, 4000)
	for i := range rows {
		rows[i].Village = fmt.Sprintf("village%02dx", i*villages/len(rows))
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[inVillage](&b, parquet.PageBufferSize(400))
	if _, err := w.Write(rows); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	crafted, kept, err := withFirstPage(b.Bytes())
	if err := errors.Join(err, s.key(), s.write("in.parquet", string(crafted))); err != nil {
		return err
	}
	config := `version: 1
key: {file: k}
source: {parquet: {path: in.parquet}}
columns: {village: {role: other}}
sink: {parquet: {path: out.parquet, compression: none}}
`
	if _, _, err := s.release(config, 0); err != nil {
		return err
	}
	text, err := os.ReadFile(s.path("out.parquet"))
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, r := range rows[:kept] {
		there[r.Village] = true
	}
	found := map[string]bool{}
	for _, r := range rows {
		if !there[r.Village] && bytes.Contains(text, []byte(r.Village)) {
			found[r.Village] = true
		}
	}
	if !bytes.Contains(text, []byte(rows[0].Village)) {
		return errors.New("the villages of the released records are not in the release")
	}
	s.gained(len(found), "%d villages of records that were filtered away, in a release of %d records", len(found), kept)
	return nil
}

// withFirstPage is a file of one column, of which the footer tells the first page alone, and
// how many records that page has.
func withFirstPage(file []byte) (crafted []byte, kept int32, err error) {
	var wrong error
	crafted, err = reFoot(file, func(m *format.FileMetaData, _ int64) {
		group := &m.RowGroups[0]
		c := &group.Columns[0].MetaData
		size, values, err := firstPage(file[c.DataPageOffset:])
		if err != nil {
			wrong = err
			return
		}
		kept = values
		c.NumValues, group.NumRows, m.NumRows = int64(values), int64(values), int64(values)
		c.TotalCompressedSize = c.DataPageOffset + size - c.DictionaryPageOffset
		c.TotalUncompressedSize = c.TotalCompressedSize
		group.TotalCompressedSize, group.TotalByteSize = c.TotalCompressedSize, c.TotalCompressedSize
		m.RowGroups = m.RowGroups[:1]
		group.Columns[0].ColumnIndexOffset, group.Columns[0].ColumnIndexLength = 0, 0
		group.Columns[0].OffsetIndexOffset, group.Columns[0].OffsetIndexLength = 0, 0
	})
	return crafted, kept, errors.Join(err, wrong)
}

// firstPage returns the size of a chunk's first page, header included, and how many
// values it has.
func firstPage(chunk []byte) (size int64, values int32, err error) {
	r := bytes.NewReader(chunk)
	var h format.PageHeader
	if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(io.Reader(r))).Decode(&h); err != nil {
		return 0, 0, err
	}
	size = int64(len(chunk)-r.Len()) + int64(h.CompressedPageSize)
	return size, pageValues(&h), nil
}

func remains(s *scene) error {
	x := s.wages(2000)
	if err := errors.Join(s.key(), s.table("in.csv", x, serial)); err != nil {
		return err
	}
	var lines strings.Builder
	for i, v := range x {
		fmt.Fprintf(&lines, `{"id":%q,"wage":%.2f,"id2":{"id":%q},"kind":"a"}`+"\n", serial(i), v, serial(i))
	}
	if err := s.write("in.jsonl", lines.String()); err != nil {
		return err
	}
	for _, config := range []string{
		pipeline("in.csv", "out.csv", "{noise: {columns: [wage], sd: 200}}", quick, "report: {json: r.json, html: r.html}"),
		`version: 1
key: {file: k}
source: {jsonl: {path: in.jsonl}}
columns: {id: {role: identifier}, wage: {role: sensitive, decimals: 2}, kind: {role: other}}
unlisted: drop
masks: [{noise: {columns: [wage], sd: 200}}]
sink: {jsonl: {path: out.jsonl}}
`,
	} {
		if _, _, err := s.release(config, 0); err != nil {
			return err
		}
	}
	for _, name := range []string{"out.csv", "out.jsonl", "r.public.json", "r.public.html", "r.html"} {
		text, err := os.ReadFile(s.path(name))
		if err != nil {
			return err
		}
		n := bytes.Count(text, []byte("S7"))
		s.gained(n, "%d identifiers in %s", n, name)
	}
	return nil
}

func pageValues(h *format.PageHeader) int32 {
	if h.DataPageHeaderV2.Valid {
		return h.DataPageHeaderV2.V.NumValues
	}
	return h.DataPageHeader.V.NumValues
}
