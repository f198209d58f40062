package text

// Records are the texts of a block's records, one behind another.
type Records struct {
	Buf  []byte
	Ends []int // where each record ends in Buf; needed where the records will have another order
}

// Clear takes the records out; their memory is used again.
func (r *Records) Clear() { r.Buf, r.Ends = r.Buf[:0], r.Ends[:0] }

// Each appends the text of each record, in their order.
func (r *Records) Each(dst [][]byte) [][]byte {
	from := 0
	for _, to := range r.Ends {
		dst = append(dst, r.Buf[from:to])
		from = to
	}
	return dst
}
