package meta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// PartitionSpec says how files are divided by the values of their records.
type PartitionSpec struct {
	ID     int              `json:"spec-id"`
	Fields []PartitionField `json:"fields"`
}

// PartitionField is one value that all records of a file have in common.
type PartitionField struct {
	Source    int       `json:"source-id"` // of the column; 0 if there are several
	ID        int       `json:"field-id"`
	Name      string    `json:"name"`
	Transform Transform `json:"transform"`
}

// Unpartitioned reports whether files are not divided.
func (p *PartitionSpec) Unpartitioned() bool {
	for _, f := range p.Fields {
		if f.Transform != Void {
			return false
		}
	}
	return true
}

// Key tells partitions apart: by their values, by the ids of the fields.
func (p *PartitionSpec) Key(values map[int]any) string {
	var key strings.Builder
	for _, f := range p.Fields {
		v := values[f.ID]
		if v == nil {
			key.WriteString("-;")
			continue
		}
		text := fmt.Sprint(v)
		key.WriteString(strconv.Itoa(len(text)) + ":" + text + ";")
	}
	return key.String()
}

// Transform makes the value of a partition of that of a column.
type Transform string

// The transforms without parameters. There are also bucket[N] and truncate[W].
const (
	Identity Transform = "identity"
	Void     Transform = "void"
	Year     Transform = "year"
	Month    Transform = "month"
	Day      Transform = "day"
	Hour     Transform = "hour"
)

var parameterForm = regexp.MustCompile(`^(bucket|truncate)\[(\d+)\]$`)

// parameter is that of bucket or truncate.
func (t Transform) parameter() (kind string, n int64) {
	m := parameterForm.FindStringSubmatch(string(t))
	if m == nil {
		return "", 0
	}
	n, err := strconv.ParseInt(m[2], 10, 32)
	if err != nil || n < 1 {
		return "", 0
	}
	return m[1], n
}

// Result is the type of the partition's value.
func (t Transform) Result(of Type) Type {
	switch kind, _ := t.parameter(); {
	case kind == "bucket", t == Year, t == Month, t == Hour:
		return Int
	case t == Day:
		return Date
	}
	return of
}

var errTransform = errors.New("is of a type by which a release is not divided so")

// Apply makes the partition's value. Booleans, int32 (also days since 1970), int64 (also microseconds since 1970) and
// strings are values here; the value of nil is nil.
func (t Transform) Apply(v any, of Type) (any, error) {
	if v == nil || t == Void {
		return nil, nil
	}
	kind, n := t.parameter()
	switch v := v.(type) {
	case bool:
		if t == Identity {
			return v, nil
		}
	case string:
		switch {
		case t == Identity:
			return v, nil
		case kind == "bucket":
			return bucket([]byte(v), n), nil
		case kind == "truncate":
			r := []rune(v)
			return string(r[:min(int64(len(r)), n)]), nil
		}
	case int32:
		switch {
		case t == Identity:
			return v, nil
		case kind == "bucket":
			return bucket(binary.LittleEndian.AppendUint64(nil, uint64(int64(v))), n), nil
		case of == Date:
			return t.ofTime(time.Unix(int64(v)*secondsOfDay, 0).UTC(), false)
		case kind == "truncate":
			return int32(int64(v) - floorMod(int64(v), n)), nil
		}
	case int64:
		switch {
		case t == Identity:
			return v, nil
		case kind == "bucket":
			return bucket(binary.LittleEndian.AppendUint64(nil, uint64(v)), n), nil
		case of == Timestamp || of == TimestampTZ:
			return t.ofTime(time.UnixMicro(v).UTC(), true)
		case kind == "truncate":
			return v - floorMod(v, n), nil
		}
	}
	return nil, errTransform
}

const secondsOfDay = 24 * 60 * 60

// ofTime counts years, months, days or hours since 1970.
func (t Transform) ofTime(at time.Time, hours bool) (any, error) {
	switch {
	case t == Year:
		return int32(at.Year() - 1970), nil
	case t == Month:
		return int32((at.Year()-1970)*12 + int(at.Month()) - 1), nil
	case t == Day:
		return int32(floorDiv(at.Unix(), secondsOfDay)), nil
	case t == Hour && hours:
		return int32(floorDiv(at.Unix(), 60*60)), nil
	}
	return nil, errTransform
}

func floorDiv(a, b int64) int64 { return (a - floorMod(a, b)) / b }

// floorMod is the remainder that is at least 0.
func floorMod(a, b int64) int64 { return (a%b + b) % b }

// bucket is the number of one of n parts, by a hash.
func bucket(value []byte, n int64) int32 { return int32(int64(murmur3(value)&0x7fffffff) % n) }

// murmur3 is the hash of the name, of 32 bits, for x86, with seed 0 (Appleby 2011), by which the specification divides
// values.
func murmur3(p []byte) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	mix := func(k uint32) uint32 { return bits.RotateLeft32(k*c1, 15) * c2 }
	h, n := uint32(0), uint32(len(p))
	for ; len(p) >= 4; p = p[4:] {
		h = bits.RotateLeft32(h^mix(binary.LittleEndian.Uint32(p)), 13)*5 + 0xe6546b64
	}
	tail := uint32(0)
	for i := len(p) - 1; i >= 0; i-- {
		tail = tail<<8 | uint32(p[i])
	}
	if len(p) > 0 {
		h ^= mix(tail)
	}
	h ^= n
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
