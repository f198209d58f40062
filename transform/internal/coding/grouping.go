package coding

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Grouping gives records with equal keys equal codes. Values are first coded
// column by column and the codes then combined in pairs, so that two records
// have the same code if and only if all their values are equal: no hash decides.
// Codes are dense, from 0, in the order in which they are first seen since Reset.
//
// Null equals null; −0 equals 0 and NaN equals NaN.
type Grouping struct {
	columns []Coder
	pairs   []wordTable // pairs[i] combines columns 0..i with column i+1

	Group []int32 // per record of the last find: code of the keys
	Combo []int32 // code of the keys with the attribute
	codes []int32
}

// Reader returns a grouping that only reads the codes of g, which must not change any more: it
// returns −1 for values that g has not seen. It has its own working memory.
func (g *Grouping) Reader() *Grouping {
	r := &Grouping{columns: make([]Coder, len(g.columns)), pairs: slices.Clone(g.pairs)}
	for i := range r.columns {
		r.columns[i].words, r.columns[i].texts, r.columns[i].closed = g.columns[i].words, g.columns[i].texts, true
		r.columns[i].words.closed = true
	}
	for i := range r.pairs {
		r.pairs[i].closed, r.pairs[i].pairs = true, nil // each reader has a cache of its own
	}
	return r
}

// Reset forgets what was seen; codes begin again at 0.
func (g *Grouping) Reset() {
	for i := range g.columns {
		g.columns[i].reset()
	}
	for i := range g.pairs {
		g.pairs[i].reset()
	}
}

// widen prepares it for a number of columns.
func (g *Grouping) widen(columns int) {
	if len(g.columns) < columns {
		g.columns = append(g.columns, make([]Coder, columns-len(g.columns))...)
		g.pairs = append(g.pairs, make([]wordTable, columns-1-len(g.pairs))...)
	}
}

// Find fills group and combo for records [from, from+n) of the block. columns
// are those of the keys, the attribute last.
func (g *Grouping) Find(b *microdata.Block, columns []int, from, n int) error {
	g.widen(len(columns))
	for _, buf := range []*[]int32{&g.Group, &g.Combo, &g.codes} {
		if cap(*buf) < n {
			*buf = make([]int32, n)
		}
		*buf = (*buf)[:n]
	}
	for k, index := range columns {
		dst := g.codes
		if k == 0 {
			dst = g.Combo
		}
		if err := g.columns[k].Code(dst, &b.Columns[index], from); err != nil {
			return err
		}
		if k == 0 {
			continue
		}
		if k == len(columns)-1 {
			copy(g.Group, g.Combo)
		}
		g.pairs[k-1].combine(g.Combo, g.codes)
	}
	return nil
}

// Exclude gives rejected records group −1: they are not released and are not exchanged. So it does with those that have
// a declared code for a missing value in one of the protected columns: they keep it, and all their values.
func (g *Grouping) Exclude(b *microdata.Block, from int, protected []int) {
	for _, index := range protected {
		for _, row := range b.Columns[index].Coded.Rows {
			if at := int(row) - from; at >= 0 && at < len(g.Group) {
				g.Group[at] = -1
			}
		}
	}
	if b.Whole() {
		return
	}
	for i := range g.Group {
		if b.Rejected(from + i) {
			g.Group[i] = -1
		}
	}
}

// Coder codes the values of one column: null is 0, values are 1, 2, …
type Coder struct {
	closed bool             // no new values are added: those that it does not know get code −1
	words  wordTable        // values of up to 8 bytes
	texts  map[string]int32 // longer ones and those of variable length
	seen   []int32          // code of each entry of the current dictionary, -1 where it is not known
	raw    []uint64         // values of up to 8 bytes, to be coded

	// The codes of some short texts, by the texts: categories are few, and otherwise each record
	// would need a look into the map. Code 0: none.
	recent [64]struct {
		text uint64
		code int32
	}
}

func (c *Coder) reset() {
	c.words.reset()
	clear(c.texts)
	clear(c.recent[:])
}

func (c *Coder) word(v uint64) int32 {
	code := c.words.code(v)
	if code < 0 {
		return code
	}
	return code + 1
}

func (c *Coder) text(v []byte) int32 {
	if len(v) > 7 {
		return c.anyText(v)
	}
	text := uint64(len(v)) << 56
	for i, x := range v {
		text |= uint64(x) << (8 * i)
	}
	return c.short(text, v)
}

// short codes a text of up to 7 bytes, given as a word of these bytes and their number.
func (c *Coder) short(text uint64, v []byte) int32 {
	slot := &c.recent[text*0x9e3779b97f4a7c15>>58]
	if slot.code == 0 || slot.text != text {
		slot.text, slot.code = text, c.anyText(v)
	}
	return slot.code
}

// texts32 codes consecutive texts, the i-th of which is text[offsets[i]:offsets[i+1]]. Eight bytes
// are read at a time if there are as many.
func (c *Coder) texts32(dst []int32, offsets []int32, text []byte) {
	offsets = offsets[:len(dst)+1]
	for i := range dst {
		from, to := int(offsets[i]), int(offsets[i+1])
		if n := to - from; uint(n) <= 7 && from+8 <= len(text) {
			word := binary.LittleEndian.Uint64(text[from:]) & (1<<(8*n) - 1)
			dst[i] = c.short(word|uint64(n)<<56, text[from:to])
			continue
		}
		dst[i] = c.text(text[from:to])
	}
}

func (c *Coder) anyText(v []byte) int32 {
	if code, ok := c.texts[string(v)]; ok {
		return code
	}
	if c.closed {
		return -1
	}
	if c.texts == nil {
		c.texts = make(map[string]int32)
	}
	code := int32(len(c.texts)) + 1
	c.texts[string(v)] = code
	return code
}

// InOrder replaces codes by those in the order of the values (of their bytes), which do not depend on
// the order of the records. The coder must not be used any more.
func (c *Coder) InOrder(codes []int32) {
	type word struct {
		w    uint64
		code int32
	}
	var words []word
	for i, code := range c.words.codes {
		if code > 0 {
			words = append(words, word{c.words.words[i], code})
		}
	}
	slices.SortFunc(words, func(a, b word) int { return cmp.Compare(a.w, b.w) })
	texts := slices.Sorted(maps.Keys(c.texts))
	to := make([]int32, max(len(words), len(texts))+1)
	for at, w := range words {
		to[w.code] = int32(at) + 1
	}
	if len(words) == 0 {
		for at, text := range texts {
			to[c.texts[text]] = int32(at) + 1
		}
	}
	for i, code := range codes {
		if code > 0 {
			codes[i] = to[code]
		}
	}
}

// canonical is the bit pattern that stands for all representations of a number.
func canonical(x float64) uint64 {
	if x == 0 {
		return 0
	}
	if x != x {
		return 0x7ff8000000000001
	}
	return math.Float64bits(x)
}

// ErrNotHeld is the error for a column that a block lacks.
var ErrNotHeld = errors.New("the block does not hold a column that the swap reads")

// Code fills dst with the codes of the released values of records from, from+1, …
func (c *Coder) Code(dst []int32, col *microdata.Column, from int) error {
	if a := col.OutArray(); a != nil {
		return c.codeArray(dst, a, from)
	}
	v := col.Out()
	if len(v.Values) < from+len(dst) {
		return ErrNotHeld
	}
	for i, x := range v.Values[from : from+len(dst)] {
		if v.Valid.Has(from + i) {
			dst[i] = c.word(canonical(x))
		} else {
			dst[i] = 0
		}
	}
	return nil
}

func (c *Coder) codeArray(dst []int32, a arrow.Array, from int) error {
	switch t := a.(type) {
	case array.ExtensionArray:
		return c.codeArray(dst, t.Storage(), from)
	case *array.Null:
		clear(dst)
		return nil
	case *array.Dictionary:
		return c.codeDictionary(dst, t, from)
	}
	if cap(c.raw) < len(dst) {
		c.raw = make([]uint64, len(dst))
	}
	if raw := c.raw[:len(dst)]; wordsOf(raw, a, from) {
		for i, v := range raw {
			if a.IsNull(from + i) {
				dst[i] = 0
			} else {
				dst[i] = c.word(v)
			}
		}
		return nil
	}
	if id := a.DataType().ID(); (id == arrow.STRING || id == arrow.BINARY) && a.NullN() == 0 {
		d := a.Data()
		c.texts32(dst, offsetsOf[int32](d)[from:], textOf(d))
		return nil
	}
	bytes, ok := BytesOf(a)
	if !ok {
		return fmt.Errorf("values of type %s cannot be compared", a.DataType())
	}
	for i := range dst {
		if a.IsNull(from + i) {
			dst[i] = 0
		} else {
			dst[i] = c.text(bytes(from + i))
		}
	}
	return nil
}

// codeDictionary looks up each entry of the dictionary once, when it first occurs.
func (c *Coder) codeDictionary(dst []int32, a *array.Dictionary, from int) error {
	entries := a.Dictionary()
	if cap(c.seen) < entries.Len() {
		c.seen = make([]int32, entries.Len())
	}
	c.seen = c.seen[:entries.Len()]
	for i := range c.seen {
		c.seen[i] = -1
	}
	for i := range dst {
		if a.IsNull(from + i) {
			dst[i] = 0
			continue
		}
		e := a.GetValueIndex(from + i)
		if c.seen[e] < 0 {
			if err := c.codeArray(c.seen[e:e+1], entries, e); err != nil {
				return err
			}
		}
		dst[i] = c.seen[e]
	}
	return nil
}

// wordTable gives equal words equal codes, dense from 0: open addressing with
// linear probing. The zero value is empty.
type wordTable struct {
	words []uint64
	codes []int32 // code + 1; 0 where the slot is empty
	shift uint    // 64 − log2 of the number of slots
	n     int32

	pairs *[small * small]int32 // codes + 1 of pairs of small codes; 0 where not known

	closed bool // no new words are added: those that it does not hold get code −1
}

func (t *wordTable) reset() {
	clear(t.codes)
	if t.pairs != nil && t.n > 0 {
		clear(t.pairs[:])
	}
	t.n = 0
}

// slotOf spreads words over the slots. Typical keys are runs of consecutive numbers, and
// floats with many trailing zero bits.
func (t *wordTable) slotOf(w uint64) int {
	w ^= w >> 32
	return int(w * 0x9e3779b97f4a7c15 >> t.shift)
}

func (t *wordTable) code(w uint64) int32 {
	if t.closed {
		return t.find(w)
	}
	if 2*int(t.n) >= len(t.codes) {
		t.grow()
	}
	for i := t.slotOf(w); ; i = (i + 1) & (len(t.codes) - 1) {
		if t.codes[i] == 0 {
			t.n++
			t.words[i], t.codes[i] = w, t.n
			return t.n - 1
		}
		if t.words[i] == w {
			return t.codes[i] - 1
		}
	}
}

const (
	small     = 64      // codes below it are looked up in an array with one another
	manyPairs = 1 << 10 // for fewer records at a time, clearing the array takes longer than it saves
)

// combine replaces codes by those of their pairs with others. Pairs of small codes are remembered in an
// array: a look into the table for each record would take longer.
func (t *wordTable) combine(codes, others []int32) {
	others = others[:len(codes)]
	if t.pairs == nil && len(codes) >= manyPairs {
		t.pairs = new([small * small]int32)
	}
	for i, left := range codes {
		right := others[i]
		if t.pairs == nil || uint32(left) >= small || uint32(right) >= small {
			codes[i] = t.code(uint64(uint32(left))<<32 | uint64(uint32(right)))
			continue
		}
		code := &t.pairs[left*small+right]
		if *code == 0 {
			*code = t.code(uint64(left)<<32|uint64(right)) + 1
		}
		codes[i] = *code - 1
	}
}

// find returns the code of a word, −1 where it has none.
func (t *wordTable) find(w uint64) int32 {
	if len(t.codes) == 0 {
		return -1
	}
	i := t.slotOf(w)
	for t.codes[i] != 0 && t.words[i] != w {
		i = (i + 1) & (len(t.codes) - 1)
	}
	return t.codes[i] - 1
}

func (t *wordTable) grow() {
	words, codes := t.words, t.codes
	slots := max(2*len(codes), 64)
	t.words, t.codes = make([]uint64, slots), make([]int32, slots)
	t.shift = 64
	for s := slots; s > 1; s >>= 1 {
		t.shift--
	}
	for j, code := range codes {
		if code == 0 {
			continue
		}
		i := t.slotOf(words[j])
		for t.codes[i] != 0 {
			i = (i + 1) & (slots - 1)
		}
		t.words[i], t.codes[i] = words[j], code
	}
}
