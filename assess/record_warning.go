package assess

import (
	"fmt"
	"math"
	"strings"
)

// RecordWarning returns a warning if the other columns of a record give the values of a masked one
// exactly; otherwise "".
func (c *ColumnMeasures) RecordWarning() string {
	var index, record *Risk
	for i := range c.Risk {
		if k := &c.Risk[i]; k.Target == TargetTypical {
			switch k.Knowledge {
			case KnowledgeIndex:
				index = k
			case KnowledgeRecord:
				record = k
			}
		}
	}
	if index == nil || record == nil || len(record.Tells) == 0 || !math.IsInf(float64(record.R), 1) ||
		math.IsInf(float64(index.R), 1) {
		return ""
	}
	return c.Name + recordAdvice(*record, "")
}

// UnseenWarning returns a warning that names released columns which the risk by the whole record leaves
// out; otherwise "".
func (m *Measures) UnseenWarning() string {
	if len(m.Unseen) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"%s: released and not looked at by the risk of knowledge record (nested, or beyond %d columns): what they tell of masked columns is not known",
		strings.Join(listed(m.Unseen), ", "), mostBeside)
}
