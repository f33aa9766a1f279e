// Slices and concatenations of CXXRTL's values, in the place of those of its header, which work
// on all chunks of the whole value, again for every slice. These touch the slice's chunks only.
// What they promise is the same; see the comments there.
template<class T, size_t Stop, size_t Start>
struct slice_expr;

template<class T, class U>
struct concat_expr;

// Let `from` appear in the bits of `to` from `Start` on, which are 0.
template<size_t Start, size_t Bits, size_t Width>
CXXRTL_ALWAYS_INLINE
void put_bits(value<Bits> &to, const value<Width> &from) {
	constexpr size_t first = Start / 32, shift = Start % 32;
#pragma GCC unroll 8
	for (size_t n = 0; n < from.chunks; n++) {
		to.data[first + n] |= from.data[n] << shift;
		if (shift != 0 && first + n + 1 < to.chunks)
			to.data[first + n + 1] |= from.data[n] >> (32 - shift);
	}
}

template<size_t Start, size_t Bits, class T, size_t Stop, size_t From>
CXXRTL_ALWAYS_INLINE
void put_bits(value<Bits> &to, const slice_expr<T, Stop, From> &from) {
	put_bits<Start>(to, from.val());
}

template<size_t Start, size_t Bits, class T, class U>
CXXRTL_ALWAYS_INLINE
void put_bits(value<Bits> &to, const concat_expr<T, U> &from) {
	put_bits<Start>(to, from.ls_expr);
	put_bits<Start + U::bits>(to, from.ms_expr);
}

template<class T, size_t Stop, size_t Start>
struct slice_expr : public expr_base<slice_expr<T, Stop, Start>> {
	static_assert(Stop >= Start, "slice_expr() may not reverse bit order");
	static_assert(Start < T::bits && Stop < T::bits, "slice_expr() must be within bounds");
	static constexpr size_t bits = Stop - Start + 1;

	T &expr;

	slice_expr(T &expr) : expr(expr) {}
	slice_expr(const slice_expr<T, Stop, Start> &) = delete;

	CXXRTL_ALWAYS_INLINE
	operator value<bits>() const {
		const value<T::bits> &from = expr;
		constexpr size_t first = Start / 32, shift = Start % 32;
		value<bits> result;
#pragma GCC unroll 8
		for (size_t n = 0; n < result.chunks; n++) {
			result.data[n] = from.data[first + n] >> shift;
			if (shift != 0 && first + n + 1 < from.chunks)
				result.data[n] |= from.data[first + n + 1] << (32 - shift);
		}
		result.data[result.chunks - 1] &= result.msb_mask;
		return result;
	}

	CXXRTL_ALWAYS_INLINE
	slice_expr<T, Stop, Start> &operator=(const value<bits> &rhs) {
		assign(expr, rhs);
		return *this;
	}

	CXXRTL_ALWAYS_INLINE
	value<bits> val() const {
		return static_cast<const value<bits> &>(*this);
	}

private:
	template<class E>
	CXXRTL_ALWAYS_INLINE
	static void assign(E &to, const value<bits> &rhs) {
		to = static_cast<const value<T::bits> &>(to).template blit<Stop, Start>(rhs);
	}

	CXXRTL_ALWAYS_INLINE
	static void assign(value<T::bits> &to, const value<bits> &rhs) {
		constexpr size_t first = Start / 32, shift = Start % 32, last = Stop / 32;
		constexpr chunk_t low = ~chunk_t(0) << shift, high = ~chunk_t(0) >> (31 - Stop % 32);
#pragma GCC unroll 8
		for (size_t n = first; n <= last; n++) {
			const chunk_t mask = (n == first ? low : ~chunk_t(0)) & (n == last ? high : ~chunk_t(0));
			chunk_t chunk = n - first < rhs.chunks ? rhs.data[n - first] << shift : 0;
			if (shift != 0 && n > first)
				chunk |= rhs.data[n - first - 1] >> (32 - shift);
			to.data[n] = (to.data[n] & ~mask) | chunk;
		}
	}
};

template<class T, class U>
struct concat_expr : public expr_base<concat_expr<T, U>> {
	static constexpr size_t bits = T::bits + U::bits;

	T &ms_expr;
	U &ls_expr;

	concat_expr(T &ms_expr, U &ls_expr) : ms_expr(ms_expr), ls_expr(ls_expr) {}
	concat_expr(const concat_expr<T, U> &) = delete;

	CXXRTL_ALWAYS_INLINE
	operator value<bits>() const {
		value<bits> result;
		put_bits<0>(result, *this);
		return result;
	}

	CXXRTL_ALWAYS_INLINE
	concat_expr<T, U> &operator=(const value<bits> &rhs) {
		ms_expr = rhs.template rtrunc<T::bits>();
		ls_expr = rhs.template trunc<U::bits>();
		return *this;
	}

	CXXRTL_ALWAYS_INLINE
	value<bits> val() const {
		return static_cast<const value<bits> &>(*this);
	}
};

