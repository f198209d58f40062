package attack

import "encoding/binary"

// Persons numbers the distinct tuples of columns of codes from 0; a record without a code, −1, in all columns has the
// number −1.
func Persons(columns [][]int32) []int32 {
	person := make([]int32, len(columns[0]))
	number := make(map[string]int32, len(person))
	var key []byte
	for i := range person {
		key = key[:0]
		known := false
		for _, codes := range columns {
			known = known || codes[i] >= 0
			key = binary.LittleEndian.AppendUint32(key, uint32(codes[i]))
		}
		if person[i] = -1; !known {
			continue
		}
		n, again := number[string(key)]
		if !again {
			n = int32(len(number))
			number[string(key)] = n
		}
		person[i] = n
	}
	return person
}

// Repeated reports whether a person has several records.
func Repeated(person []int32) bool {
	seen := make(map[int32]bool, len(person))
	for _, who := range person {
		if who >= 0 && seen[who] {
			return true
		}
		seen[who] = true
	}
	return false
}
