package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The structures of parquet.thrift as far as a filter needs them. Those of
// parquet-go's package format are not enough, because they do not distinguish an
// absent count of nulls from 0, nor a missing field id from 0. A field that is in
// none of these structures is ignored when it is read, and so cannot be written.

type fileMetaData struct {
	Version             int32                                   `thrift:"1,required"`
	Schema              thrift.Slice[schemaElement]             `thrift:"2,required"`
	NumRows             int64                                   `thrift:"3,required"`
	RowGroups           thrift.Slice[rowGroup]                  `thrift:"4,required"`
	KeyValueMetadata    thrift.Slice[format.KeyValue]           `thrift:"5,optional"`
	CreatedBy           string                                  `thrift:"6,optional"`
	ColumnOrders        thrift.Slice[format.ColumnOrder]        `thrift:"7,optional"`
	EncryptionAlgorithm thrift.Null[format.EncryptionAlgorithm] `thrift:"8,optional"`
}

type schemaElement struct {
	Type           thrift.Null[format.Type]                `thrift:"1,optional"`
	TypeLength     thrift.Null[int32]                      `thrift:"2,optional"`
	RepetitionType thrift.Null[format.FieldRepetitionType] `thrift:"3,optional"`
	Name           string                                  `thrift:"4,required"`
	NumChildren    thrift.Null[int32]                      `thrift:"5,optional"`
	ConvertedType  thrift.Null[int32]                      `thrift:"6,optional"`
	Scale          thrift.Null[int32]                      `thrift:"7,optional"`
	Precision      thrift.Null[int32]                      `thrift:"8,optional"`
	FieldID        thrift.Null[int32]                      `thrift:"9,optional"`
	LogicalType    format.LogicalType                      `thrift:"10,optional"`
}

type rowGroup struct {
	Columns             thrift.Slice[columnChunk]          `thrift:"1,required"`
	TotalByteSize       int64                              `thrift:"2,required"`
	NumRows             int64                              `thrift:"3,required"`
	SortingColumns      thrift.Slice[format.SortingColumn] `thrift:"4,optional"`
	FileOffset          thrift.Null[int64]                 `thrift:"5,optional"`
	TotalCompressedSize thrift.Null[int64]                 `thrift:"6,optional"`
	Ordinal             thrift.Null[int16]                 `thrift:"7,optional"`
}

// The places of page indexes and Bloom filters are read to check that nothing overlaps them;
// they are never written.
type columnChunk struct {
	FilePath          string                                   `thrift:"1,optional"`
	FileOffset        int64                                    `thrift:"2,required"`
	MetaData          thrift.Null[columnMetaData]              `thrift:"3,optional"`
	OffsetIndexOffset thrift.Null[int64]                       `thrift:"4,optional"`
	OffsetIndexLength thrift.Null[int32]                       `thrift:"5,optional"`
	ColumnIndexOffset thrift.Null[int64]                       `thrift:"6,optional"`
	ColumnIndexLength thrift.Null[int32]                       `thrift:"7,optional"`
	CryptoMetadata    thrift.Null[format.ColumnCryptoMetaData] `thrift:"8,optional"`
}

type columnMetaData struct {
	Type                  format.Type                            `thrift:"1,required"`
	Encoding              thrift.Slice[format.Encoding]          `thrift:"2,required"`
	PathInSchema          thrift.Slice[string]                   `thrift:"3,required"`
	Codec                 format.CompressionCodec                `thrift:"4,required"`
	NumValues             int64                                  `thrift:"5,required"`
	TotalUncompressedSize int64                                  `thrift:"6,required"`
	TotalCompressedSize   int64                                  `thrift:"7,required"`
	DataPageOffset        int64                                  `thrift:"9,required"`
	DictionaryPageOffset  thrift.Null[int64]                     `thrift:"11,optional"`
	Statistics            thrift.Null[statistics]                `thrift:"12,optional"`
	EncodingStats         thrift.Slice[format.PageEncodingStats] `thrift:"13,optional"`
	// Where the chunk's Bloom filter lies: read, and never written.
	BloomFilterOffset thrift.Null[int64] `thrift:"14,optional"`
	BloomFilterLength thrift.Null[int32] `thrift:"15,optional"`
	// The chunk's own key-value metadata and its statistics of sizes and of geography are not
	// read.
}

type statistics struct {
	Max           []byte             `thrift:"1,optional"`
	Min           []byte             `thrift:"2,optional"`
	NullCount     thrift.Null[int64] `thrift:"3,optional"`
	DistinctCount thrift.Null[int64] `thrift:"4,optional"`
	MaxValue      []byte             `thrift:"5,optional"`
	MinValue      []byte             `thrift:"6,optional"`
	MaxExact      thrift.Null[bool]  `thrift:"7,optional"`
	MinExact      thrift.Null[bool]  `thrift:"8,optional"`
}

type pageHeader struct {
	Type             format.PageType                          `thrift:"1,required"`
	UncompressedSize int32                                    `thrift:"2,required"`
	CompressedSize   int32                                    `thrift:"3,required"`
	CRC              thrift.Null[int32]                       `thrift:"4,optional"`
	DataPage         thrift.Null[dataPageHeader]              `thrift:"5,optional"`
	DictionaryPage   thrift.Null[format.DictionaryPageHeader] `thrift:"7,optional"`
	DataPageV2       thrift.Null[dataPageHeaderV2]            `thrift:"8,optional"`
}

type dataPageHeader struct {
	NumValues          int32           `thrift:"1,required"`
	Encoding           format.Encoding `thrift:"2,required"`
	DefinitionEncoding format.Encoding `thrift:"3,required"`
	RepetitionEncoding format.Encoding `thrift:"4,required"`
}

type dataPageHeaderV2 struct {
	NumValues         int32             `thrift:"1,required"`
	NumNulls          int32             `thrift:"2,required"`
	NumRows           int32             `thrift:"3,required"`
	Encoding          format.Encoding   `thrift:"4,required"`
	DefinitionsLength int32             `thrift:"5,required"`
	RepetitionsLength int32             `thrift:"6,required"`
	IsCompressed      thrift.Null[bool] `thrift:"7,optional"`
}

var compact thrift.CompactProtocol

var (
	errShort  = errors.New("ends too early")
	errNested = errors.New("structures nested too deeply")
)

// deepest is the greatest depth of nested structures and lists; those of the format have a depth
// below ten.
const deepest = 64

// unmarshal decodes the structure at the start of b and returns its number of bytes;
// errShort if b ends before it does. The result refers to b. The library allocates lists
// of the length that they claim to have, so the bytes are checked first.
func unmarshal(b []byte, v any) (n int, err error) {
	n, err = skipStruct(b, 0, 0)
	if err != nil {
		return 0, err
	}
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("not a structure of the Parquet format")
		}
	}()
	if err := thrift.NewDecoder(compact.NewReaderFromBytes(b[:n])).Decode(v); err != nil {
		// The library's message may quote data.
		return 0, errors.New("not a structure of the Parquet format")
	}
	return n, nil
}

func marshal(buf *bytes.Buffer, v any) error {
	return thrift.NewEncoder(compact.NewWriter(buf)).Encode(v)
}

// skipStruct goes through one structure of the compact protocol from b[at] on and returns
// the place of its end. A list that claims more elements than there are bytes left is an
// error.
func skipStruct(b []byte, at, depth int) (int, error) {
	if depth > deepest {
		return 0, errNested
	}
	for {
		if at >= len(b) {
			return 0, errShort
		}
		head := b[at]
		at++
		typ := thrift.Type(head & 15)
		if typ == thrift.STOP {
			return at, nil
		}
		if head>>4 == 0 { // the field's number follows
			_, n, err := uvarint(b[at:])
			if err != nil {
				return 0, err
			}
			at += n
		}
		if typ == thrift.TRUE || typ == thrift.FALSE {
			continue // the type is the value
		}
		var err error
		if at, err = skipValue(b, at, typ, depth+1); err != nil {
			return 0, err
		}
	}
}

func skipValue(b []byte, at int, typ thrift.Type, depth int) (int, error) {
	switch typ {
	case thrift.TRUE, thrift.FALSE, thrift.I8:
		at++
	case thrift.I16, thrift.I32, thrift.I64:
		_, n, err := uvarint(b[at:])
		if err != nil {
			return 0, err
		}
		at += n
	case thrift.DOUBLE:
		at += 8
	case thrift.UUID:
		at += 16
	case thrift.BINARY:
		u, n, err := uvarint(b[at:])
		if err != nil {
			return 0, err
		}
		if u > uint64(len(b)-at-n) {
			return 0, errShort
		}
		at += n + int(u)
	case thrift.STRUCT:
		return skipStruct(b, at, depth)
	case thrift.LIST, thrift.SET:
		return skipList(b, at, depth)
	case thrift.MAP:
		// No structure of the format has a map; an unknown field may.
		u, n, err := uvarint(b[at:])
		if err != nil || u == 0 {
			return at + n, err
		}
		return 0, errors.New("not a structure of the Parquet format: a map")
	default:
		return 0, fmt.Errorf("not a structure of the Parquet format: type %d", typ)
	}
	if at > len(b) {
		return 0, errShort
	}
	return at, nil
}

func skipList(b []byte, at, depth int) (int, error) {
	if depth > deepest {
		return 0, errNested // nested lists could overflow the stack
	}
	if at >= len(b) {
		return 0, errShort
	}
	head := b[at]
	at++
	size := uint64(head >> 4)
	if size == 15 {
		u, n, err := uvarint(b[at:])
		if err != nil {
			return 0, err
		}
		size, at = u, at+n
	}
	// The smallest structure that the format has in a list takes three bytes in the
	// file, and hundreds in memory.
	least := uint64(1)
	if thrift.Type(head&15) == thrift.STRUCT {
		least = 3
	}
	if size > uint64(len(b)-at)/least {
		return 0, errShort
	}
	var err error
	for range size {
		if at, err = skipValue(b, at, thrift.Type(head&15), depth+1); err != nil {
			return 0, err
		}
	}
	return at, nil
}

func uvarint(b []byte) (uint64, int, error) {
	u, n := binary.Uvarint(b)
	switch {
	case n == 0:
		return 0, 0, errShort
	case n < 0:
		return 0, 0, errors.New("a number of more than 64 bits")
	}
	return u, n, nil
}
