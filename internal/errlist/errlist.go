// Package errlist joins errors on one line, as the message of a CNI error needs
// them; errors.Join puts each on its own.
package errlist

import "strings"

type list []error

// Join returns the errors that are not nil as one, nil if there are none.
// errors.Is and errors.As look into all of them.
func Join(errs ...error) error {
	var l list
	for _, err := range errs {
		if err != nil {
			l = append(l, err)
		}
	}
	if l == nil {
		return nil
	}
	return l
}

func (l list) Error() string {
	texts := make([]string, len(l))
	for i, err := range l {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (l list) Unwrap() []error { return l }
