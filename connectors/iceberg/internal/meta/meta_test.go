package meta

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"
)

// The hashes of the specification's appendix B.
func TestMurmur3(t *testing.T) {
	for value, want := range map[any]int32{int32(34): 2017239379, int64(34): 2017239379, "iceberg": 1210000089} {
		v, err := Transform("bucket[2147483647]").Apply(value, Int)
		if got := want & 0x7fffffff; err != nil || v != int32(int64(got)%2147483647) {
			t.Errorf("%T %v: %v, want %d (%v)", value, value, v, want, err)
		}
	}
	day := int32(time.Date(2017, 11, 16, 0, 0, 0, 0, time.UTC).Unix() / secondsOfDay)
	at := time.Date(2017, 11, 16, 22, 31, 8, 0, time.UTC).UnixMicro()
	wantDay, wantAt := int32(-653330422), int32(-2047944441)
	for _, c := range []struct {
		v    any
		of   Type
		want int32
	}{{day, Date, wantDay & 0x7fffffff}, {at, Timestamp, wantAt & 0x7fffffff}} {
		if v, err := Transform("bucket[2147483647]").Apply(c.v, c.of); err != nil || v != c.want {
			t.Errorf("%v: %v, want %d", c.v, v, c.want)
		}
	}
	// Lengths that are no multiples of 4, from another implementation of the hash.
	for text, want := range map[string]uint32{"": 0, "a": 0x3c2569b2, "ab": 0x9bbfd75f, "abc": 0xb3dd93fa,
		"abcd": 0x43ed676a, "abcde": 0xe89b9af6} {
		if got := murmur3([]byte(text)); got != want {
			t.Errorf("%q: %#x, want %#x", text, got, want)
		}
	}
}

func TestTransforms(t *testing.T) {
	day := func(y int, m time.Month, d int) int32 {
		return int32(floorDiv(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix(), secondsOfDay))
	}
	micros := time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC).UnixMicro() // the microsecond before 1970
	for _, c := range []struct {
		transform Transform
		v         any
		of        Type
		want      any
	}{
		{Identity, "x", String, "x"}, {Identity, int32(5), Int, int32(5)}, {Identity, true, Boolean, true},
		{Identity, nil, String, nil}, {Void, "x", String, nil},
		{"truncate[10]", int32(1), Int, int32(0)}, {"truncate[10]", int32(-1), Int, int32(-10)},
		{"truncate[10]", int64(-10), Long, int64(-10)},
		{"truncate[3]", "iceberg", String, "ice"}, {"truncate[3]", "äöü€", String, "äöü"},
		{"truncate[9]", "ice", String, "ice"},
		{Year, day(1970, 1, 1), Date, int32(0)}, {Year, day(1969, 12, 31), Date, int32(-1)},
		{Year, day(2017, 11, 16), Date, int32(47)},
		{Month, day(1969, 12, 31), Date, int32(-1)}, {Month, day(2017, 12, 1), Date, int32(575)},
		{Day, day(2017, 12, 1), Date, day(2017, 12, 1)},
		{Year, micros, Timestamp, int32(-1)}, {Month, micros, TimestampTZ, int32(-1)}, {Day, micros, Timestamp, int32(-1)},
		{Hour, micros, Timestamp, int32(-1)},
		{Hour, int64(3600_000_000), Timestamp, int32(1)}, {Hour, int64(3599_999_999), Timestamp, int32(0)},
	} {
		if got, err := c.transform.Apply(c.v, c.of); err != nil || got != c.want {
			t.Errorf("%s of %v: %v, want %v (%v)", c.transform, c.v, got, c.want, err)
		}
	}
	for _, c := range []struct {
		transform Transform
		v         any
		of        Type
	}{{Hour, int32(1), Date}, {Year, int64(1), Long}, {"bucket[0]", int64(1), Long}, {"zorder", "x", String},
		{"truncate[2]", true, Boolean}, {Identity, 1.5, Double}} {
		if got, err := c.transform.Apply(c.v, c.of); err == nil {
			t.Errorf("%s of %v: %v", c.transform, c.v, got)
		}
	}
}

func TestTypes(t *testing.T) {
	var s Schema
	text :=
		`{"type":"struct","schema-id":3,"fields":[{"id":1,"name":"a","required":true,"type":"decimal(9,2)"},{"id":2,"name":"b","required":false,"type":{"type":"list","element-id":3,"element":"int","element-required":true}}]}`
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	if p, n, ok := s.Fields[0].Type.Digits(); s.ID != 3 || s.Fields[0].Type != Decimal(9, 2) || p != 9 || n != 2 || !ok ||
		s.Fields[1].Type != "list" || !s.Fields[1].Type.Nested() {
		t.Errorf("read %+v", s)
	}
	if again, err := json.Marshal(&s); err != nil || string(again) != text {
		t.Errorf("written %s", again)
	}
	if n, ok := Fixed(16).Width(); n != 16 || !ok {
		t.Error("a width is lost")
	}
	if json.Unmarshal([]byte(`{"fields":[{"type":{"type":"long"}}]}`), &s) == nil {
		t.Error("a type that is none is read")
	}
}

// What is written is read again, also when it is written anew; what a snapshot adds has its sequence number, what it
// keeps its own.
func TestManifests(t *testing.T) {
	schema := &Schema{
		ID: 1, Fields: []Field{{1, "a", false, String}, {2, "d", false, Date}, {3, "t", false, TimestampTZ},
			{4, "n", false, Long}}}
	spec := &PartitionSpec{
		ID: 2, Fields: []PartitionField{{1, 1000, "a b", Identity}, {2, 1001, "d", Day}, {3, 1002, "t", Identity},
			{4, 1003, "n", "bucket[4]"}, {9, 1004, "gone", Void}}}
	file := File{
		Content: Data, Path: "s3://b/x", Format: Parquet, Spec: 2,
		Partition: map[int]any{1000: "x", 1001: int32(-3), 1002: int64(-5), 1003: nil, 1004: nil}, Records: 7, Bytes: 9,
		Sizes: map[int]int64{1: 5}, Values: map[int]int64{1: 7, 2: 7}, Nulls: map[int]int64{},
		Lower: map[int][]byte{1: []byte("a")}, Upper: map[int][]byte{1: {0xff}},
	}
	text, m,
		err := Write(50, 4, spec, schema, false,
		[]Entry{{Status: Added, Snapshot: 50, File: file},
			{Status: Kept, Snapshot: 40, Sequence: 2, FileSequence: 3, File: file},
			{Status: Removed, Snapshot: 50, Sequence: 1, FileSequence: 1, File: file}})
	if err != nil {
		t.Fatal(err)
	}
	want := Manifest{Spec: 2, Sequence: 4, MinSequence: 2, Snapshot: 50, Added: 1, Existing: 1, Removed: 1, AddedRows: 7,
		ExistingRows: 7, RemovedRow: 7, Bytes: int64(len(text))}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("said to be %+v, want %+v", m, want)
	}
	m.Path = "x.avro"
	list, err := WriteList(50, nil, 4, []Manifest{m, {Path: "y", Deletes: true}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := ReadList(list)
	if err != nil || len(all) != 2 || !all[1].Deletes || fmt.Sprint(all[0]) != fmt.Sprint(m) {
		t.Fatalf("the list has %+v, want %+v (%v)", all, m, err)
	}
	got, err := all[0].Read(text)
	if err != nil || len(got) != 2 {
		t.Fatalf("%d entries: %v", len(got), err)
	}
	if got[0].Sequence != 4 || got[0].FileSequence != 4 || got[1].Sequence != 2 || got[1].FileSequence != 3 ||
		got[1].Snapshot != 40 || got[1].Status != Kept {
		t.Errorf("entries %+v", got)
	}
	for _, e := range got {
		if !reflect.DeepEqual(e.File, file) {
			t.Errorf("read %+v\nwant %+v", e.File, file)
		}
	}
	if _, err := all[1].Read(text); err == nil {
		t.Error("data files are read as deleted records")
	}
	for n := range len(text) {
		if entries, err := all[0].Read(text[:n]); err == nil && len(entries) == 2 {
			t.Errorf("%d of %d bytes are read as all", n, len(text))
		}
	}
}

// In tables of version 1 nothing is numbered; in others, what a snapshot keeps has a number.
func TestSequenceIsInherited(t *testing.T) {
	f := File{Path: "x", Format: Parquet}
	for status, want := range map[Status]int64{Kept: -1, Added: 4} {
		text, err := written(entrySchema(""), map[string]string{}, 1, func(int) map[string]any {
			return map[string]any{"status": int32(status), "snapshot_id": nil, "sequence_number": nil,
				"file_sequence_number": nil, "data_file": f.record(&PartitionSpec{})}
		})
		if err != nil {
			t.Fatal(err)
		}
		for sequence, want := range map[int64]int64{0: 0, 4: want} {
			got, err := (&Manifest{Sequence: sequence, Snapshot: 8}).Read(text)
			if want < 0 {
				if err == nil {
					t.Errorf("status %d of a manifest numbered %d: read %+v", status, sequence, got)
				}
				continue
			}
			if err != nil || len(got) != 1 || got[0].Sequence != want || got[0].FileSequence != want || got[0].Snapshot != 8 {
				t.Errorf("status %d of a manifest numbered %d: %+v, %v", status, sequence, got, err)
			}
		}
	}
	key := File{Path: "x", Format: Parquet, key: []byte{1}}
	text, m, err := Write(1, 1, &PartitionSpec{}, &Schema{}, false, []Entry{{Status: Added, File: key}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Read(text); err == nil {
		t.Error("an encrypted file is read")
	}
}

func FuzzRead(f *testing.F) {
	schema, spec := &Schema{Fields: []Field{{1, "a", false, Date}}},
		&PartitionSpec{Fields: []PartitionField{{1, 1000, "a", Identity}}}
	text, m,
		err := Write(1, 1, spec, schema, false,
		[]Entry{
			{Status: Added, Snapshot: 1,
				File: File{Path: "x", Format: Parquet, Partition: map[int]any{1000: int32(1)}, Lower: map[int][]byte{1: {1}}}}})
	if err != nil {
		f.Fatal(err)
	}
	list, err := WriteList(1, nil, 1, []Manifest{m})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(list)
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = ReadList(text)
		_, _ = m.Read(text)
	})
}
