package kinds

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Mistake is what a person has got wrong on an object, as the watch showed it: annotations and labels that have no effect, and
// values that cannot be used.
type Mistake struct {
	UID  types.UID
	Text string
	// Resume is the id of a halt that an annotation of a config resumes. It is a mistake as long as another halt is active, so
	// it is kept for as long as it is not known which ones are.
	Resume string
	// Since is when the watch showed the first of them that is still there, and AtLeast that a list did, so that it may be older.
	Since   time.Time
	AtLeast bool
}

// Shares reports whether something of what was wrong with the object before is still wrong.
func (m *Mistake) Shares(known *Mistake) bool {
	before := strings.Split(known.Text, "; ")
	return m.UID == known.UID && known.Text != "" && slices.ContainsFunc(strings.Split(m.Text, "; "), func(part string) bool { return slices.Contains(before, part) })
}

// NewMistake returns nil if the text is empty.
func NewMistake(uid types.UID, text string) *Mistake {
	if text == "" {
		return nil
	}
	return &Mistake{UID: uid, Text: text}
}
