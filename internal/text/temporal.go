package text

import "time"

// ParseDate reads YYYY-MM-DD of the proleptic Gregorian calendar, years 0001 to
// 9999, as days since 1970-01-01.
func ParseDate(p []byte) (days int32, ok bool) {
	if len(p) != 10 || p[4] != '-' || p[7] != '-' {
		return 0, false
	}
	y, ok1 := digits(p[0:4])
	m, ok2 := digits(p[5:7])
	d, ok3 := digits(p[8:10])
	if !ok1 || !ok2 || !ok3 || y < 1 || m < 1 || m > 12 || d < 1 || d > daysIn(y, m) {
		return 0, false
	}
	return civil(y, m, d), true
}

// ParseTimestamp reads YYYY-MM-DD, T or a space, HH:MM or HH:MM:SS with up to
// six decimals, and optionally Z or ±HH:MM, as microseconds since
// 1970-01-01T00:00:00. zone is 'Z' where the text ends in Z, '+' where it gives
// another offset, which is then subtracted, 0 where it gives none.
func ParseTimestamp(p []byte) (us int64, zone byte, ok bool) {
	if len(p) < 16 || p[10] != 'T' && p[10] != ' ' || p[13] != ':' {
		return 0, 0, false
	}
	days, ok := ParseDate(p[:10])
	h, ok1 := digits(p[11:13])
	m, ok2 := digits(p[14:16])
	if !ok || !ok1 || !ok2 || h > 23 || m > 59 {
		return 0, 0, false
	}
	sec := int64(h)*3600 + int64(m)*60
	p = p[16:]
	if len(p) >= 3 && p[0] == ':' {
		s, ok := digits(p[1:3])
		if !ok || s > 59 {
			return 0, 0, false
		}
		sec += int64(s)
		p = p[3:]
		if us, p, ok = microseconds(p); !ok {
			return 0, 0, false
		}
	}
	offset, zone, ok := zoneOf(p)
	if !ok {
		return 0, 0, false
	}
	sec -= offset
	return (int64(days)*86400+sec)*1_000_000 + us, zone, true
}

// microseconds reads the decimals of a second, where there are any, and returns what is
// left of p. Anything finer than a microsecond is not read.
func microseconds(p []byte) (us int64, rest []byte, ok bool) {
	if len(p) == 0 || p[0] != '.' {
		return 0, p, true
	}
	scale := int64(1_000_000)
	i := 1
	for ; i < len(p) && p[i]-'0' <= 9; i++ {
		if i > 6 {
			return 0, nil, false
		}
		scale /= 10
		us += int64(p[i]-'0') * scale
	}
	return us, p[i:], i > 1
}

// zoneOf reads the offset from UTC in seconds that all of p says; zone is as
// ParseTimestamp returns it.
func zoneOf(p []byte) (offset int64, zone byte, ok bool) {
	switch {
	case len(p) == 0:
		return 0, 0, true
	case len(p) == 1 && p[0] == 'Z':
		return 0, 'Z', true
	case len(p) != 6 || p[0] != '+' && p[0] != '-' || p[3] != ':':
		return 0, 0, false
	}
	h, ok1 := digits(p[1:3])
	m, ok2 := digits(p[4:6])
	if !ok1 || !ok2 || h > 23 || m > 59 {
		return 0, 0, false
	}
	offset = int64(h)*3600 + int64(m)*60
	if p[0] == '-' {
		offset = -offset
	}
	return offset, '+', true
}

func digits(p []byte) (int, bool) {
	n := 0
	for _, c := range p {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

func daysIn(y, m int) int {
	switch m {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// civil returns the days from 1970-01-01, counting years from March so that the
// leap day comes last.
func civil(y, m, d int) int32 {
	if m <= 2 {
		y--
		m += 12
	}
	return int32(365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + d - 1 - 719468)
}

// AppendDate appends days since 1970-01-01 as YYYY-MM-DD.
func AppendDate(dst []byte, days int64) []byte {
	return time.Unix(days*86400, 0).UTC().AppendFormat(dst, "2006-01-02")
}

// AppendTimestamp appends an instant given in units a second as ISO 8601, with
// the decimals it needs, and Z where utc is true.
func AppendTimestamp(dst []byte, v, perSecond int64, utc bool) []byte {
	sec, frac := v/perSecond, v%perSecond
	if frac < 0 {
		sec, frac = sec-1, frac+perSecond
	}
	dst = time.Unix(sec, frac*(1_000_000_000/perSecond)).UTC().AppendFormat(dst, "2006-01-02T15:04:05.999999999")
	if utc {
		dst = append(dst, 'Z')
	}
	return dst
}
