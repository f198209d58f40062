package readstat

import (
	"context"
	"math"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// host gives the library what it imports: the functions of wasm/glue.c, and of the system interface a
// clock that stands still, no variables of the environment, and an output that takes nothing.
func host(ctx context.Context, r wazero.Runtime) error {
	const i32, i64, f64 = api.ValueTypeI32, api.ValueTypeI64, api.ValueTypeF64
	b := r.NewHostModuleBuilder("host")
	def := func(b wazero.HostModuleBuilder, name string, params, results []api.ValueType,
		f func(c *calls, m api.Memory, stack []uint64)) {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, m api.Module, stack []uint64) {
			c, _ := ctx.Value(callsKey{}).(*calls)
			if c == nil {
				c = &calls{}
			}
			f(c, m.Memory(), stack)
		}), params, results).Export(name)
	}
	types := func(t ...api.ValueType) []api.ValueType { return t }
	def(b, "read", types(i32, i32), types(i32), func(c *calls, m api.Memory, s []uint64) {
		to, ok := m.Read(uint32(s[0]), uint32(s[1]))
		if !ok || c.read == nil {
			s[0] = api.EncodeI32(-1)
			return
		}
		n, err := c.read(to)
		c.fail(err)
		s[0] = api.EncodeI32(int32(n))
	})
	def(b, "seek", types(i64, i32), types(i64), func(c *calls, _ api.Memory, s []uint64) {
		at, err := int64(-1), error(nil)
		if c.seek != nil {
			at, err = c.seek(int64(s[0]), int(int32(s[1])))
		}
		if err != nil {
			at = -1
		}
		s[0] = uint64(at)
	})
	def(b, "write", types(i32, i32), types(i32), func(c *calls, m api.Memory, s []uint64) {
		from, ok := m.Read(uint32(s[0]), uint32(s[1]))
		if !ok || c.write == nil || c.err != nil {
			s[0] = api.EncodeI32(-1)
			return
		}
		c.fail(c.write(from))
		s[0] = uint64(len(from))
	})
	def(b, "metadata", types(i64, i32, i32, i32), types(i32), func(c *calls, m api.Memory, s []uint64) {
		if c.metadata != nil {
			c.metadata(int64(s[0]), int(int32(s[2])), text(m, uint32(s[3])))
		}
		if s[0] = 0; c.err != nil {
			s[0] = 1 // the library stops
		}
	})
	def(b, "variable", types(i32, i32, i32, i32, i32, i32, i32, i32, i32, i32), types(i32),
		func(c *calls, m api.Memory, s []uint64) {
			v := Variable{Index: int(int32(s[0])), Type: Type(uint32(s[1])), Width: int(int32(s[2])), Display: int(int32(s[3])),
				Measure:   int(int32(s[4])),
				Alignment: int(int32(s[5])), Name: text(m, uint32(s[6])), Label: text(m, uint32(s[7])),
				Format: text(m, uint32(s[8])), Set: text(m, uint32(s[9]))}
			s[0] = 0
			if c.variable != nil && c.variable(v) {
				s[0] = 1
			}
			if c.err != nil {
				s[0] = api.EncodeI32(-1) // the library stops
			}
		})
	def(b, "missing", types(i32, f64, f64, i32), nil, func(c *calls, m api.Memory, s []uint64) {
		if c.missing != nil {
			c.missing(int(int32(s[0])), Range{math.Float64frombits(s[1]), math.Float64frombits(s[2]), text(m, uint32(s[3]))})
		}
	})
	def(b, "label", types(i32, i32, i32, f64, i32, i32), nil, func(c *calls, m api.Memory, s []uint64) {
		if c.label != nil && c.err == nil {
			c.label(Label{Set: text(m, uint32(s[0])), IsText: Type(uint32(s[1])).Text(), Tag: byte(s[2]),
				Number: math.Float64frombits(s[3]), Text: text(m, uint32(s[4])), Label: text(m, uint32(s[5]))})
		}
	})
	def(b, "weight", types(i32), nil, func(c *calls, _ api.Memory, s []uint64) {
		if c.weight != nil {
			c.weight(int(int32(s[0])))
		}
	})
	def(b, "chunk", types(i32, i32, i32), types(i32), func(c *calls, m api.Memory, s []uint64) {
		data, ok := m.Read(uint32(s[0]), uint32(s[1]))
		if ok && c.chunk != nil {
			c.fail(c.chunk(data, int(int32(s[2]))))
		}
		s[0] = 0
		if !ok || c.err != nil {
			s[0] = 1
		}
	})
	if _, err := b.Instantiate(ctx); err != nil {
		return err
	}
	system := r.NewHostModuleBuilder("wasi_snapshot_preview1")
	const bad = 8 // EBADF
	answer := func(n uint64) func(*calls, api.Memory, []uint64) {
		return func(_ *calls, _ api.Memory, s []uint64) { s[0] = n }
	}
	def(system, "fd_close", types(i32), types(i32), answer(bad))
	def(system, "fd_seek", types(i32, i64, i32, i32), types(i32), answer(bad))
	def(system, "fd_write", types(i32, i32, i32, i32), types(i32), answer(bad))
	def(system, "environ_get", types(i32, i32), types(i32), answer(0))
	def(system, "environ_sizes_get", types(i32, i32), types(i32), func(_ *calls, m api.Memory, s []uint64) {
		m.WriteUint32Le(uint32(s[0]), 0)
		m.WriteUint32Le(uint32(s[1]), 0)
		s[0] = 0
	})
	def(system, "proc_exit", types(i32), nil, func(*calls, api.Memory, []uint64) {
		panic("the library has ended the process")
	})
	def(system, "clock_time_get", types(i32, i64, i32), types(i32), func(_ *calls, m api.Memory, s []uint64) {
		m.WriteUint64Le(uint32(s[2]), 0)
		s[0] = 0
	})
	_, err := system.Instantiate(ctx)
	return err
}

func (c *calls) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}
