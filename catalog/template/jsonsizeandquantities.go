package template

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// The API server decodes the pod templates of its own kinds before it stores them. Nobody does so with the template of
// a custom resource, or with that in a ControllerRevision. To decode a quantity such as 1e-2000000000 takes all memory,
// and a list of empty containers takes hundreds of times as much memory as its text.

// quantityFields are the fields of a pod template that hold a quantity, or a map of quantities.
var quantityFields = map[string]bool{"limits": true, "requests": true, "overhead": true, "sizeLimit": true, "divisor": true}

const (
	// longestQuantity is how many characters a quantity may have.
	longestQuantity = 64
	// deepest is how deeply JSON may be nested.
	deepest = 100
	// maxValues is how many values JSON may have, and empty objects one more. An item of a list counts as listItem values: it is
	// a struct of up to half a kilobyte in memory, though its text may be a single digit. So the largest one that is decoded takes
	// about 40 MiB, garbage included.
	maxValues, listItem = 100_000, 5
	// lightValues and lightBytes are what JSON may have so that several may be decoded at the same time.
	lightValues, lightBytes = 10_000, 256 << 10
	// hugeExponent is how many digits the exponents have of quantities that are refused, and longDigits how long their
	// other digits take with the points between them, at least.
	hugeExponent = 4
	longDigits   = 50
)

var (
	errNested = errors.New("it is nested too deeply")
	errValues = fmt.Errorf("it has too many values (more than %d, where each item of a list counts as %d)", maxValues, listItem)
)

// CheckSize returns an error if parts of an object, encoded as JSON, take far more memory when they are decoded than the
// text takes. It reports whether it takes so much that only one should be decoded at a time. The error quotes no content.
func CheckSize(parts ...[]byte) (isHeavy bool, err error) {
	values, size := 0, 0
	for _, encoded := range parts {
		s := scanOf(encoded)
		if s.isTooDeep {
			return true, errNested
		}
		values, size = values+s.values, size+len(encoded)
	}
	if values > maxValues {
		return true, errValues
	}
	return values > lightValues || size > lightBytes, nil
}

// OfRevision reads the pod template out of the data of a ControllerRevision, which holds it as a patch of the workload.
func OfRevision(data []byte) (*corev1.PodTemplateSpec, error) {
	if err := CheckQuantities(data); err != nil {
		return nil, err
	}
	var patch struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := utiljson.Unmarshal(data, &patch); err != nil {
		return nil, err
	}
	return &patch.Spec.Template, nil
}

// CheckQuantities returns an error if an encoded pod template, or an object that has one, has a quantity that no resource can
// have. The error quotes no content.
func CheckQuantities(encoded []byte) error {
	if s := scanOf(encoded); !s.isSuspicious {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	return checkQuantities(decoder, "", deepest)
}

// scan is what is known of JSON that has been read once, byte by byte: regular expressions take a hundred times as long for
// what anyone may write. If the text is no JSON, it says nothing, but whoever decodes it notices that first.
type scan struct {
	// isSuspicious means that there may be a quantity that is refused, as in few templates.
	isSuspicious bool
	// values is how many values there are; see maxValues.
	values    int
	isTooDeep bool

	number              numberScan
	isString, isEscaped bool
	lists               []bool // which of the objects and lists around the present place are lists
}

func scanOf(encoded []byte) *scan {
	s := &scan{}
	for i, c := range encoded {
		s.number.next(c)
		if s.number.exponent >= hugeExponent || s.number.digits >= longDigits || c == '\\' && i+1 < len(encoded) && encoded[i+1] == 'u' {
			s.isSuspicious = true
		}
		s.count(c)
	}
	return s
}

// count counts a value where it begins: the first one of an object or list, and each one after a comma.
func (s *scan) count(c byte) {
	switch {
	case s.isEscaped:
		s.isEscaped = false
	case s.isString:
		s.isEscaped, s.isString = c == '\\', c != '"'
	case c == '"':
		s.isString = true
	case c == '{', c == '[':
		s.lists = append(s.lists[:min(len(s.lists), deepest)], c == '[')
		s.isTooDeep = s.isTooDeep || len(s.lists) > deepest
		s.countOne()
	case c == ',':
		s.countOne()
	case c == '}', c == ']':
		s.lists = s.lists[:max(len(s.lists)-1, 0)]
	}
}

func (s *scan) countOne() {
	if len(s.lists) > 0 && s.lists[len(s.lists)-1] {
		s.values += listItem
	} else {
		s.values++
	}
}

// hasHugeExponent reports whether a text has an exponent that no quantity may have.
func hasHugeExponent(text string) bool {
	var s numberScan
	for i := range len(text) {
		if s.next(text[i]); s.exponent >= hugeExponent {
			return true
		}
	}
	return false
}

// numberScan is what a text ends with so far: how many digits and points, and how many digits after an e and perhaps a sign.
type numberScan struct {
	digits, exponent int
	inExponent       bool
	last             byte
}

func (s *numberScan) next(c byte) {
	switch {
	case c >= '0' && c <= '9':
		s.digits++
		if s.inExponent {
			s.exponent++
		}
	case c == 'e' || c == 'E':
		s.digits, s.exponent, s.inExponent = 0, 0, true
	case (c == '-' || c == '+') && (s.last == 'e' || s.last == 'E'):
	case c == '.':
		s.digits++
		s.exponent, s.inExponent = 0, false
	default:
		s.digits, s.exponent, s.inExponent = 0, 0, false
	}
	s.last = c
}

// checkQuantities checks the next value, which is a quantity or has quantities if it is in a field of that name. It
// reads token by token, so that it sees fields that are there twice.
func checkQuantities(decoder *json.Decoder, field string, depth int) error {
	token, err := decoder.Token()
	switch {
	case err != nil:
		return errors.New("it is not JSON")
	case depth == 0:
		return errNested
	}
	switch value := token.(type) {
	case json.Delim:
		return checkMembers(decoder, value, field, depth-1)
	case string:
		return checkQuantity(value, field)
	case json.Number:
		return checkQuantity(value.String(), field)
	}
	return nil
}

// checkMembers checks the members of an object or array up to its end.
func checkMembers(decoder *json.Decoder, begin json.Delim, field string, depth int) error {
	for decoder.More() {
		of := field
		if begin == '{' {
			name, err := decoder.Token()
			if err != nil {
				return errors.New("it is not JSON")
			}
			if text, _ := name.(string); quantityFields[text] {
				of = text
			}
		}
		if err := checkQuantities(decoder, of, depth); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return errors.New("it is not JSON")
	}
	return nil
}

func checkQuantity(text, field string) error {
	if field != "" && (len(text) > longestQuantity || hasHugeExponent(text)) {
		return fmt.Errorf("its field %q has a quantity that is too long, or too large or small", field)
	}
	return nil
}
