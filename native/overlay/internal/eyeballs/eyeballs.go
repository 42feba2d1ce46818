// Package eyeballs connects to the first of several addresses that works, like "happy eyeballs" (RFC 8305): an address
// that does not answer delays the next one, and does not use up its time.
package eyeballs

import (
	"context"
	"errors"
	"time"
)

// First calls dial with the numbers 0 to count-1 and returns the first result, with its number. The next number begins
// when the one before has failed, or after delay. The context of the others then ends, and what they still return is
// given to drop. If all fail, First returns their errors, in the order of the numbers. REQUIRES: count > 0.
func First[T any](ctx context.Context, count int, delay time.Duration, dial func(ctx context.Context, number int) (T, error), drop func(T)) (value T, number int, err error) {
	type result struct {
		number int
		value  T
		err    error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result, count)
	errs := make([]error, count)
	timer := time.NewTimer(0)
	defer timer.Stop()
	begun, ended := 0, 0
	begin := func() {
		if begun == count || begun > 0 && ctx.Err() != nil {
			return
		}
		i := begun
		begun++
		go func() {
			v, err := dial(ctx, i)
			results <- result{i, v, err}
		}()
		timer.Reset(delay)
	}
	for {
		select {
		case <-timer.C:
			begin()
		case r := <-results:
			ended++
			if r.err == nil {
				go func() {
					for range begun - ended {
						if late := <-results; late.err == nil {
							drop(late.value)
						}
					}
				}()
				return r.value, r.number, nil
			}
			errs[r.number] = r.err
			if ended == begun {
				begin()
			}
			if ended == begun {
				return value, 0, errors.Join(append(errs, ctx.Err())...)
			}
		}
	}
}
