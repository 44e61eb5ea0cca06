package hns

import (
	"context"
	"fmt"
	"strconv"
	"sync"
)

// nameLocks let one call at a time look for a name and make the object: HNS
// takes any number of endpoints of one name. The zero nameLocks are ready.
type nameLocks struct {
	mu   sync.Mutex
	held map[string]*nameLock
}

type nameLock struct {
	turn chan struct{} // holds a token while somebody has the name
	uses int           // who has it or waits for it
}

// lock waits for the name; unlock must be called, once. If ctx ends first the
// error says that nothing was sent.
func (l *nameLocks) lock(ctx context.Context, name string) (unlock func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*nameLock{}
	}
	n := l.held[name]
	if n == nil {
		n = &nameLock{turn: make(chan struct{}, 1)}
		l.held[name] = n
	}
	n.uses++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if n.uses--; n.uses == 0 {
			delete(l.held, name)
		}
	}
	select {
	case n.turn <- struct{}{}:
		return func() { <-n.turn; leave() }, nil
	default:
	}
	select {
	case n.turn <- struct{}{}:
		return func() { <-n.turn; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, fmt.Errorf("%w: another call is about %s: %w", ErrNotSent, strconv.Quote(name), whyDone(ctx))
	}
}
