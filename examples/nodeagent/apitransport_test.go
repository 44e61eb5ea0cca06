package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An API server that does not answer is told of once, and counted each time.
func TestAPITransport(t *testing.T) {
	var log strings.Builder
	var codes []string
	var fails error
	tr := &apiTransport{log: slog.New(slog.NewTextHandler(&log, nil)), count: func(c string) { codes = append(codes, c) },
		next: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, fails
		})}
	ask := func(ctx context.Context) {
		_, _ = tr.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "https://192.0.2.1/", nil)) //nolint:bodyclose // it has none
	}
	ask(t.Context())
	fails = errors.New("connection refused")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	ask(ended)
	ask(t.Context())
	ask(t.Context())
	fails = nil
	ask(t.Context())
	if want := []string{"200", "error", "error", "200"}; !slices.Equal(codes, want) {
		t.Errorf("%v, want %v", codes, want)
	}
	if l := log.String(); strings.Count(l, "does not answer") != 1 || strings.Count(l, "answers again") != 1 {
		t.Errorf("log:\n%s", l)
	}
}
