package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// The API server decodes the pod templates of its own kinds before it stores them. Nobody does so with the template of
// a custom resource, or with that in a ControllerRevision, and to decode a quantity such as 1e-2000000000 takes all
// memory.

// quantityFields are the fields of a pod template that hold a quantity, or a map of quantities.
var quantityFields = map[string]bool{"limits": true, "requests": true, "overhead": true, "sizeLimit": true, "divisor": true}

const (
	// longestQuantity is how many characters a quantity may have.
	longestQuantity = 64
	// deepestTemplate is how deeply JSON may be nested in a pod template.
	deepestTemplate = 100
	// hugeExponent is how many digits the exponents have of quantities that are refused, and longDigits how long their
	// other digits take with the points between them, at least.
	hugeExponent = 4
	longDigits   = 50
)

var errNested = errors.New("it is nested too deeply")

// CheckQuantities returns an error if an encoded pod template, or an object that has one, cannot be decoded at a low
// cost, because it has a quantity that no resource can have. The error quotes no content.
func CheckQuantities(encoded []byte) error {
	if !isSuspicious(encoded) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	return checkQuantities(decoder, "", deepestTemplate)
}

// isSuspicious reports whether JSON may have a quantity that is refused, as few templates may. It reads the text once: regular
// expressions take a hundred times as long for what anyone may write.
func isSuspicious(encoded []byte) bool {
	var s numberScan
	for i, c := range encoded {
		if s.next(c); s.exponent >= hugeExponent || s.digits >= longDigits || c == '\\' && i+1 < len(encoded) && encoded[i+1] == 'u' {
			return true
		}
	}
	return false
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
