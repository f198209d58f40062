package places

import "math"

// Unit is how points are given.
type Unit uint8

// The units.
const (
	Degrees Unit = iota // latitude and longitude, on a sphere of EarthRadius
	Metres              // x and y in a plane
)

// EarthRadius is the mean radius of the Earth in metres (IUGG). Distances on the sphere differ from those on the
// ellipsoid by 0.56 % at most.
const EarthRadius = 6371008.8

// Point is latitude and longitude in degrees, or x and y in metres.
type Point struct{ A, B float64 }

// Valid reports whether a point can be one: latitudes from −90 to 90 and longitudes from −180 to 360, or finite numbers
// up to 10⁹.
func (u Unit) Valid(p Point) bool {
	if u == Metres {
		return math.Abs(p.A) <= 1e9 && math.Abs(p.B) <= 1e9
	}
	return math.Abs(p.A) <= 90 && p.B >= -180 && p.B <= 360
}

// place is a point in space, in metres: distances between two are those of chords, which have the order of those on the
// sphere.
type place [3]float64

func (u Unit) place(p Point) place {
	if u == Metres {
		return place{p.A, p.B, 0}
	}
	if p.B > 180 {
		p.B -= 360 // so that both ways to write a longitude give the same place, to the bit
	}
	if p.B == -180 {
		p.B = 180
	}
	if math.Abs(p.A) == 90 {
		p.B = 0
	}
	sinA, cosA := math.Sincos(p.A * (math.Pi / 180))
	sinB, cosB := math.Sincos(p.B * (math.Pi / 180))
	if math.Abs(p.A) == 90 {
		cosA = 0
	}
	return place{EarthRadius * float64(cosA*cosB), EarthRadius * float64(cosA*sinB), EarthRadius * sinA}
}

// point is the point of the direction of a place.
func (u Unit) point(p place) Point {
	if u == Metres {
		return Point{p[0], p[1]}
	}
	return Point{math.Atan2(p[2], math.Hypot(p[0], p[1])) * (180 / math.Pi), math.Atan2(p[1], p[0]) * (180 / math.Pi)}
}

func square(p, q place) float64 {
	a, b, c := p[0]-q[0], p[1]-q[1], p[2]-q[2]
	return float64(a*a) + float64(b*b) + float64(c*c)
}

// chord returns the square of the chord of a distance.
func (u Unit) chord(distance float64) float64 {
	if u == Degrees {
		distance = 2 * EarthRadius * math.Sin(min(distance/(2*EarthRadius), math.Pi/2))
	}
	return float64(distance * distance)
}

// distance returns the distance of the square of a chord.
func (u Unit) distance(chord float64) float64 {
	if u == Degrees {
		return 2 * EarthRadius * math.Asin(min(1, math.Sqrt(chord)/(2*EarthRadius)))
	}
	return math.Sqrt(chord)
}

// Distance returns the distance of two points in metres, along the great circle for degrees.
func (u Unit) Distance(p, q Point) float64 { return u.distance(square(u.place(p), u.place(q))) }

// Radius returns the radius between inner and outer within which the ring has the share of its area, from 0 to 1: it is
// uniform in area for a share that is uniform. On the sphere the area within a radius r is 4πR² sin²(r/2R).
func (u Unit) Radius(inner, outer, share float64) float64 {
	a, b := u.chord(inner), u.chord(outer)
	return u.distance(a + float64(share*(b-a)))
}

// Area returns the area within a radius.
func (u Unit) Area(radius float64) float64 { return math.Pi * u.chord(radius) }

// Move returns the point at a distance from p in the direction that turns by the share turn of a circle from north, or
// from the axis of x. Longitudes are from −180 (not included) to 180.
func (u Unit) Move(p Point, distance, turn float64) Point {
	sin, cos := math.Sincos(2 * math.Pi * turn)
	if u == Metres {
		return Point{p.A + float64(distance*cos), p.B + float64(distance*sin)}
	}
	// North and east at p, and the great circle in the plane of p and the direction.
	sinA, cosA := math.Sincos(p.A * (math.Pi / 180))
	sinB, cosB := math.Sincos(p.B * (math.Pi / 180))
	up := place{float64(cosA * cosB), float64(cosA * sinB), sinA}
	north := place{-float64(sinA * cosB), -float64(sinA * sinB), cosA}
	east := place{-sinB, cosB, 0}
	sinD, cosD := math.Sincos(distance / EarthRadius)
	var to place
	for k := range to {
		to[k] = float64(cosD*up[k]) + float64(sinD*(float64(cos*north[k])+float64(sin*east[k])))
	}
	q := u.point(to)
	if q.B == -180 {
		q.B = 180
	}
	return q
}
