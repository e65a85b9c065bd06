/* cli/demo_picture.c - see demo_picture.h.
 *
 * A picture is a list of shapes, each an outline at a distance of which every pixel around it is asked: inside it
 * has the shape's colour, at the edge a mixture. Lengths are in hundredths of the picture's height, from its middle. */
#include "cli/demo_picture.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/memory.h"

#define WIDTH 640
#define HEIGHT 480
#define LINE_BYTES (1 + 3 * WIDTH) /* PNG: a line begins with its filter */
#define FIGURES_MAX 14
#define UNIT (HEIGHT / 100.0f) /* pixels */

enum form { NOTHING, DISC, BOX, BAR, PEAK }; /* BAR: a line with round ends; PEAK: a triangle on its base */

struct figure {
    enum form form;
    uint32_t color; /* 0xrrggbb */
    int x, y;       /* the middle; BAR: one end; PEAK: its top */
    int w, h;  /* half of the size; DISC: w is its radius; BAR: the way to the other end; PEAK: h is the whole height */
    int round; /* radius of a BOX's corners, half the width of a BAR */
    int hole;  /* thickness of an outline; 0: filled */
};

struct drawing {
    const char *slug, *alt;
    uint32_t top, bottom; /* the ground, fading downwards */
    struct figure figures[FIGURES_MAX];
};

static const struct drawing drawings[] = {
    {"lumen-photo-editor",
     "A camera lens",
     0x1b2a4a,
     0x3f6ea8,
     {{DISC, 0x0f1830, 0, 0, 34, 0, 0, 0},
      {DISC, 0xf4f1ea, 0, 0, 34, 0, 0, 3},
      {DISC, 0x274b7d, 0, 0, 25, 0, 0, 0},
      {DISC, 0x6fb1e8, 0, 0, 25, 0, 0, 2},
      {DISC, 0x10203f, 0, 0, 13, 0, 0, 0},
      {DISC, 0xf7c873, 7, -8, 4, 0, 0, 0},
      {DISC, 0xffffff, -9, 9, 2, 0, 0, 0}}},
    {"lumen-film-looks",
     "A strip of film",
     0x6a2f4b,
     0xd9815f,
     {{BOX, 0x231a24, 0, 0, 58, 24, 3, 0},
      {BOX, 0xf6d6a8, -36, 0, 14, 14, 1, 0},
      {BOX, 0xe58f6b, 0, 0, 14, 14, 1, 0},
      {BOX, 0x9fc7c0, 36, 0, 14, 14, 1, 0},
      {BOX, 0xf4f1ea, -36, -19, 3, 2, 1, 0},
      {BOX, 0xf4f1ea, 0, -19, 3, 2, 1, 0},
      {BOX, 0xf4f1ea, 36, -19, 3, 2, 1, 0},
      {BOX, 0xf4f1ea, -36, 19, 3, 2, 1, 0},
      {BOX, 0xf4f1ea, 0, 19, 3, 2, 1, 0},
      {BOX, 0xf4f1ea, 36, 19, 3, 2, 1, 0}}},
    {"cadence-notation",
     "Notes on a stave",
     0xf3ead7,
     0xe2cfa8,
     {{BAR, 0x4a3b2a, -52, -16, 104, 0, 1, 0},
      {BAR, 0x4a3b2a, -52, -8, 104, 0, 1, 0},
      {BAR, 0x4a3b2a, -52, 0, 104, 0, 1, 0},
      {BAR, 0x4a3b2a, -52, 8, 104, 0, 1, 0},
      {BAR, 0x4a3b2a, -52, 16, 104, 0, 1, 0},
      {DISC, 0x8c2f39, -28, 12, 6, 0, 0, 0},
      {BAR, 0x8c2f39, -23, 12, 0, -34, 1, 0},
      {DISC, 0x8c2f39, 2, 4, 6, 0, 0, 0},
      {BAR, 0x8c2f39, 7, 4, 0, -34, 1, 0},
      {BAR, 0x8c2f39, -23, -22, 30, -8, 3, 0},
      {DISC, 0x8c2f39, 32, -4, 6, 0, 0, 0},
      {BAR, 0x8c2f39, 27, -4, 0, 32, 1, 0}}},
    {"quill-writer",
     "A page being written",
     0x274046,
     0x5d8a86,
     {{BOX, 0xfbf7ee, -6, 0, 27, 36, 2, 0},
      {BAR, 0xc9bfae, -24, -22, 34, 0, 1, 0},
      {BAR, 0xc9bfae, -24, -12, 34, 0, 1, 0},
      {BAR, 0xc9bfae, -24, -2, 28, 0, 1, 0},
      {BAR, 0xc9bfae, -24, 8, 20, 0, 1, 0},
      {BAR, 0xe0a33e, 2, 18, 34, -40, 4, 0},
      {BAR, 0x2b2b2b, -3, 24, 4, -5, 2, 0}}},
    {"harbor-backup",
     "A lighthouse",
     0x12263a,
     0x2f6f8f,
     {{DISC, 0xf5dc8a, 0, -22, 22, 0, 0, 3},
      {BOX, 0xf4f1ea, 0, 8, 9, 26, 2, 0},
      {BOX, 0xc8503f, 0, 0, 9, 4, 0, 0},
      {BOX, 0xc8503f, 0, 18, 9, 4, 0, 0},
      {BOX, 0x223344, 0, -20, 11, 3, 1, 0},
      {DISC, 0xf5dc8a, 0, -26, 6, 0, 0, 0},
      {BAR, 0x8fd0dc, -60, 38, 120, 0, 2, 0},
      {BAR, 0x8fd0dc, -40, 45, 80, 0, 2, 0}}},
    {"strongroom",
     "The dial of a safe",
     0x2b2d33,
     0x565c68,
     {{BOX, 0x9aa3b2, 0, 0, 40, 36, 5, 0},
      {BOX, 0x6d7686, 0, 0, 35, 31, 4, 0},
      {DISC, 0xe8ebf0, 0, 0, 20, 0, 0, 0},
      {DISC, 0x3a3f4a, 0, 0, 16, 0, 0, 0},
      {BAR, 0xf0b429, 0, 0, 8, -9, 2, 0},
      {DISC, 0xe8ebf0, 0, 0, 4, 0, 0, 0},
      {BOX, 0x9aa3b2, -41, -18, 3, 6, 1, 0},
      {BOX, 0x9aa3b2, -41, 18, 3, 6, 1, 0}}},
    {"orbitfall",
     "A planet with a ring and a moon",
     0x0b0b1e,
     0x3a1d5c,
     {{DISC, 0xe86f51, -6, 4, 24, 0, 0, 0},
      {DISC, 0xf2a36b, -12, -3, 12, 0, 0, 0},
      {BAR, 0xf6e3b4, -46, 22, 80, -36, 2, 0},
      {DISC, 0xbfc7ea, 40, -26, 7, 0, 0, 0},
      {DISC, 0xffffff, -48, -30, 1, 0, 0, 0},
      {DISC, 0xffffff, 20, 34, 1, 0, 0, 0},
      {DISC, 0xffffff, 52, 10, 1, 0, 0, 0},
      {DISC, 0xffffff, -30, 38, 1, 0, 0, 0},
      {DISC, 0xffffff, 6, -40, 1, 0, 0, 0}}},
    {"hollow-pines",
     "Pines below the moon",
     0x10242b,
     0x2f5d50,
     {{DISC, 0xf3e9c6, 44, -26, 11, 0, 0, 0},
      {PEAK, 0x1d4038, -52, -2, 16, 52, 0, 0},
      {PEAK, 0x1d4038, 58, 2, 16, 48, 0, 0},
      {BOX, 0x0a1a17, -26, 44, 2, 8, 0, 0},
      {PEAK, 0x0a1a17, -26, 6, 19, 32, 0, 0},
      {PEAK, 0x0a1a17, -26, -8, 15, 26, 0, 0},
      {PEAK, 0x0a1a17, -26, -20, 10, 20, 0, 0},
      {BOX, 0x0d221d, 14, 44, 3, 8, 0, 0},
      {PEAK, 0x0d221d, 14, 0, 24, 38, 0, 0},
      {PEAK, 0x0d221d, 14, -18, 19, 32, 0, 0},
      {PEAK, 0x0d221d, 14, -34, 13, 26, 0, 0}}},
    {"kinema-gift-card",
     "A gift card with a ribbon",
     0xb4233c,
     0xe8663f,
     {{BOX, 0xfff4e3, 0, 0, 44, 28, 4, 0},
      {BOX, 0xd8334a, -18, 0, 4, 28, 0, 0},
      {BOX, 0xd8334a, 0, -4, 44, 4, 0, 0},
      {DISC, 0xd8334a, -25, -11, 7, 0, 0, 3},
      {DISC, 0xd8334a, -11, -11, 7, 0, 0, 3},
      {BAR, 0xd9c7ad, 8, 14, 26, 0, 2, 0}}},
    {"skylark-flight-pack",
     "An aeroplane above mountains",
     0x5aa7e0,
     0xcfe8f5,
     {{PEAK, 0x7d95ad, 40, 2, 48, 50, 0, 0},
      {PEAK, 0xf4f8fb, 40, 2, 12, 12, 0, 0},
      {PEAK, 0x5f7894, -24, -10, 56, 62, 0, 0},
      {PEAK, 0xffffff, -24, -10, 15, 17, 0, 0},
      {BAR, 0xffffff, 2, -26, 34, -8, 4, 0},
      {BAR, 0xe8ebf0, 18, -30, -10, -14, 3, 0},
      {BAR, 0xe8ebf0, 20, -30, 2, 16, 3, 0},
      {BAR, 0xc8503f, 2, -26, -5, -10, 2, 0}}},
    {"outline-icons",
     "Four outlined icons",
     0xeef1f6,
     0xcdd7e6,
     {{DISC, 0x2f5bd0, -24, -18, 12, 0, 0, 3},
      {BOX, 0xd0552f, 24, -18, 12, 12, 3, 3},
      {BOX, 0x2a8f6d, -24, 20, 13, 9, 2, 3},
      {BAR, 0x2a8f6d, -36, 13, 12, 9, 1, 0},
      {BAR, 0x2a8f6d, -24, 22, 12, -9, 1, 0},
      {BAR, 0x7a3fb0, 24, 8, 0, 18, 2, 0},
      {BAR, 0x7a3fb0, 16, 19, 8, 8, 2, 0},
      {BAR, 0x7a3fb0, 32, 19, -8, 8, 2, 0},
      {BAR, 0x7a3fb0, 12, 32, 24, 0, 2, 0}}},
    {"tally-sheets",
     "A table and its bars",
     0x1d5b46,
     0x59a37c,
     {{BOX, 0xf7faf5, 0, 0, 44, 32, 3, 0},
      {BOX, 0xdfeee4, 0, -25, 44, 7, 3, 0},
      {BOX, 0x2a8f6d, -28, 12, 5, 12, 1, 0},
      {BOX, 0x2a8f6d, -12, 6, 5, 18, 1, 0},
      {BOX, 0xe0a33e, 4, 0, 5, 24, 1, 0},
      {BOX, 0x2a8f6d, 20, 9, 5, 15, 1, 0},
      {BAR, 0x9db8aa, -38, -25, 20, 0, 1, 0},
      {BAR, 0x9db8aa, -8, -25, 16, 0, 1, 0},
      {BAR, 0x9db8aa, 18, -25, 16, 0, 1, 0}}},
    {"the-quiet-inbox",
     "A closed envelope",
     0x3d3a6b,
     0x8b86c9,
     {{BOX, 0xfbf7ee, 0, 4, 42, 28, 3, 0},
      {BAR, 0xc9c2dd, -39, -21, 39, 27, 1, 0},
      {BAR, 0xc9c2dd, 0, 6, 39, -27, 1, 0},
      {DISC, 0xd8334a, 0, 8, 7, 0, 0, 0}}},
    {"lumen-preset-sampler",
     "Three sliders",
     0x33264d,
     0x7a5ba6,
     {{BAR, 0xb9a6d6, -40, -20, 80, 0, 2, 0},
      {BAR, 0xb9a6d6, -40, 0, 80, 0, 2, 0},
      {BAR, 0xb9a6d6, -40, 20, 80, 0, 2, 0},
      {DISC, 0xf7c873, 12, -20, 7, 0, 0, 0},
      {DISC, 0x9fe0d0, -20, 0, 7, 0, 0, 0},
      {DISC, 0xf08a8a, 26, 20, 7, 0, 0, 0}}},
};

/* How far the point is outside of the shape, in pixels; negative inside. A function of its own whatever the compiler
 * thinks: what it would take out of a loop it could no longer round together with the rest, and pictures would change
 * by a bit here and there. */
__attribute__((noinline)) static float distance_of(const struct figure *s, float x, float y)
{
    float px = x - WIDTH / 2.0f - (float)s->x * UNIT, py = y - HEIGHT / 2.0f - (float)s->y * UNIT;
    float w = (float)s->w * UNIT, h = (float)s->h * UNIT, round = (float)s->round * UNIT, d = 0;
    switch (s->form) {
    case NOTHING: return 1;
    case DISC: d = hypotf(px, py) - w; break;
    case BOX: {
        float qx = fabsf(px) - w + round, qy = fabsf(py) - h + round;
        float corner = qx > 0 && qy > 0 ? hypotf(qx, qy) : fmaxf(fmaxf(qx, qy), 0);
        d = corner + fminf(fmaxf(qx, qy), 0) - round;
        break;
    }
    case PEAK: d = fmaxf((fabsf(px) * h - py * w) / hypotf(w, h), py - h); break;
    case BAR: {
        float along = fminf(fmaxf((px * w + py * h) / fmaxf(w * w + h * h, 1), 0), 1);
        d = hypotf(px - w * along, py - h * along) - round;
        break;
    }
    }
    float hole = (float)s->hole * UNIT;
    return s->hole ? fabsf(d + hole / 2) - hole / 2 : d;
}

static void mix(float rgb[3], uint32_t color, float share)
{
    for (int i = 0; i < 3; i++) {
        float c = (float)(color >> (16 - 8 * i) & 255);
        rgb[i] += (c - rgb[i]) * share;
    }
}

struct extent {
    int left, right, top, bottom; /* pixels; right and bottom are the first ones outside */
};

static int within(float v, int max)
{
    return v < 0 ? 0 : v > (float)max ? max : (int)v;
}

/* All pixels that the shape colours are inside, the half of one by which its edge is soft included. */
static struct extent extent_of(const struct figure *s)
{
    float x = WIDTH / 2.0f + (float)s->x * UNIT, y = HEIGHT / 2.0f + (float)s->y * UNIT;
    float w = (float)s->w * UNIT, h = (float)s->h * UNIT, more = 2;
    float left = -w, right = w, top = -h, bottom = h;
    switch (s->form) {
    case NOTHING:
    case BOX: break;
    case DISC: top = -w, bottom = w; break;
    case PEAK: /* the softness is across its sides: further than elsewhere at the tip and the ends of the base */
        top = 0;
        more += hypotf(w, h) / fminf(w, h);
        break;
    case BAR:
        left = fminf(w, 0), right = fmaxf(w, 0), top = fminf(h, 0), bottom = fmaxf(h, 0);
        more += (float)s->round * UNIT;
        break;
    }
    return (struct extent){.left = within(x + left - more, WIDTH),
                           .right = within(x + right + more, WIDTH),
                           .top = within(y + top - more, HEIGHT),
                           .bottom = within(y + bottom + more, HEIGHT)};
}

static void draw(const struct drawing *d, uint8_t *lines)
{
    struct extent extents[FIGURES_MAX] = {0};
    for (int i = 0; i < FIGURES_MAX && d->figures[i].form; i++) extents[i] = extent_of(&d->figures[i]);
    for (int y = 0; y < HEIGHT; y++) {
        float line[WIDTH][3], ground[3] = {0};
        mix(ground, d->top, 1);
        mix(ground, d->bottom, (float)(y & ~3) / HEIGHT); /* in steps: much shorter files */
        for (int x = 0; x < WIDTH; x++) memcpy(line[x], ground, sizeof ground);
        for (int i = 0; i < FIGURES_MAX; i++) {
            if (y < extents[i].top || y >= extents[i].bottom) continue;
            for (int x = extents[i].left; x < extents[i].right; x++) {
                float out = distance_of(&d->figures[i], (float)x + 0.5f, (float)y + 0.5f);
                if (out < 0.5f) mix(line[x], d->figures[i].color, fminf(0.5f - out, 1));
            }
        }
        uint8_t *at = lines + (size_t)y * LINE_BYTES;
        *at++ = 0;
        for (int x = 0; x < WIDTH; x++)
            for (int i = 0; i < 3; i++) *at++ = (uint8_t)(line[x][i] + 0.5f);
    }
}

static void add_number(struct buf *b, uint32_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8) buf_char(b, (char)(v >> shift & 255));
}

static void add_chunk(struct buf *png, const char kind[5], Str data)
{
    add_number(png, (uint32_t)data.len);
    size_t from = png->len;
    buf_append(png, str_from(kind));
    buf_append(png, data);
    add_number(png, (uint32_t)crc32(0, (const Bytef *)png->ptr + from, (uInt)(png->len - from)));
}

static Str png_of(struct arena *a, const uint8_t *lines)
{
    uLongf packed_len = compressBound((uLong)LINE_BYTES * HEIGHT);
    Bytef *packed = arena_take(a, packed_len);
    if (compress2(packed, &packed_len, lines, (uLong)LINE_BYTES * HEIGHT, 9) != Z_OK) memory_out();
    struct buf head, png;
    buf_init(&head, a, 13);
    add_number(&head, WIDTH);
    add_number(&head, HEIGHT);
    buf_append(&head, (Str){"\x08\x02\0\0\0", 5}); /* 8 bits, RGB */
    buf_init(&png, a, packed_len + 128);
    buf_append(&png, (Str){"\x89PNG\r\n\x1a\n", 8});
    add_chunk(&png, "IHDR", buf_str(&head));
    add_chunk(&png, "IDAT", (Str){(const char *)packed, packed_len});
    add_chunk(&png, "IEND", (Str){0});
    assert(!png.full);
    return buf_str(&png);
}

Str demo_picture_draw(struct arena *a, Str slug, Str *ret_alt)
{
    for (size_t i = 0; i < sizeof drawings / sizeof *drawings; i++) {
        if (!str_eq(slug, str_from(drawings[i].slug))) continue;
        uint8_t *lines = arena_take(a, (size_t)LINE_BYTES * HEIGHT);
        draw(&drawings[i], lines);
        *ret_alt = str_from(drawings[i].alt);
        return png_of(a, lines);
    }
    return (Str){0};
}
