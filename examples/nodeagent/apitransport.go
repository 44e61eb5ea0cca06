package main

import (
	"log/slog"
	"net/http"
	"strconv"
	"sync"
)

// apiTransport counts the requests to the API server by their answers, and tells
// when there are none. The watch takes a server that is gone for a matter of time,
// and says nothing; what the agent knows of the other nodes grows old meanwhile.
type apiTransport struct {
	next  http.RoundTripper
	log   *slog.Logger
	count func(code string)

	mu   sync.Mutex
	down bool
}

// RoundTrip is part of http.RoundTripper.
func (t *apiTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err != nil && r.Context().Err() != nil {
		return resp, err // whoever asked has given up, or the program ends
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err != nil:
		t.count("error")
		if !t.down {
			t.log.WarnContext(r.Context(), "the API server does not answer; the nodes that are known stay as they are", "error", err)
		}
	default:
		t.count(strconv.Itoa(resp.StatusCode))
		if t.down {
			t.log.InfoContext(r.Context(), "the API server answers again")
		}
	}
	t.down = err != nil
	return resp, err
}

// WrappedRoundTripper lets client-go see what is below.
func (t *apiTransport) WrappedRoundTripper() http.RoundTripper { return t.next }
