// tests/image/make_corpus.cpp - writes tests/image/corpus, one file per rule of docs/decode.md.
// SPDX-License-Identifier: Apache-2.0
//
// A developer's tool: the files are checked in. Run it as `image_make_corpus FOLDER` after adding a
// rule. It speaks to libjpeg, libpng and libwebp directly, because it must write what our own
// encoders refuse to.
#include "tests/image/corpus_scene.h"
#include "tests/image/corpus_webp.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <jpeglib.h>
#include <png.h>
#include <string>
#include <vector>

namespace {

namespace scene = sluice::image::corpus;
using scene::kHeight;
using scene::kWidth;
using Buffer = std::vector<std::uint8_t>;
using Row = std::vector<std::uint8_t>;

std::filesystem::path folder;

void save(const std::string& name, const Buffer& bytes) {
  std::ofstream(folder / name, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

// --- JPEG

struct JpegPlan {
  J_COLOR_SPACE in = JCS_RGB;
  J_COLOR_SPACE stored = JCS_YCbCr;
  int h = 1, v = 1;  // luma sampling
  int restart_rows = 0;
  bool progressive = false, arithmetic = false;
  bool adobe_marker = false, invert = false;
  bool many_scans = false;
};

Row jpeg_row(const JpegPlan& plan, int y) {
  Row row;
  for (int x = 0; x < kWidth; ++x) {
    if (plan.in == JCS_GRAYSCALE) row.push_back(scene::grey(x, y));
    if (plan.in == JCS_RGB)
      for (const std::uint8_t value : scene::rgb(x, y))
        row.push_back(value);
    if (plan.in == JCS_CMYK)
      for (const std::uint8_t ink : scene::cmyk(x, y))
        row.push_back(plan.invert ? scene::byte(255 - ink) : ink);
  }
  return row;
}

/// DC of all, then every AC coefficient of every component by itself: 1 + 3 * 63 scans.
std::vector<jpeg_scan_info> one_scan_per_coefficient() {
  std::vector<jpeg_scan_info> scans = {{3, {0, 1, 2, 0}, 0, 0, 0, 0}};
  for (int component = 0; component < 3; ++component)
    for (int k = 1; k < 64; ++k)
      scans.push_back({1, {component, 0, 0, 0}, k, k, 0, 0});
  return scans;
}

Buffer jpeg(const JpegPlan& plan) {
  jpeg_compress_struct c{};
  jpeg_error_mgr errors{};
  c.err = jpeg_std_error(&errors);
  jpeg_create_compress(&c);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&c, &memory, &size);
  c.image_width = kWidth;
  c.image_height = kHeight;
  c.in_color_space = plan.in;
  c.input_components = plan.in == JCS_GRAYSCALE ? 1 : plan.in == JCS_RGB ? 3 : 4;
  jpeg_set_defaults(&c);
  jpeg_set_colorspace(&c, plan.in == JCS_GRAYSCALE ? JCS_GRAYSCALE : plan.stored);
  jpeg_set_quality(&c, 97, TRUE);
  c.dct_method = JDCT_ISLOW;
  c.arith_code = plan.arithmetic ? TRUE : FALSE;
  c.restart_in_rows = plan.restart_rows;
  c.write_Adobe_marker = plan.adobe_marker ? TRUE : FALSE;
  if (plan.in == JCS_RGB) {
    c.comp_info[0].h_samp_factor = plan.h;
    c.comp_info[0].v_samp_factor = plan.v;
  }
  const std::vector<jpeg_scan_info> scans = one_scan_per_coefficient();
  if (plan.progressive) jpeg_simple_progression(&c);
  if (plan.many_scans) {
    c.scan_info = scans.data();
    c.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&c, TRUE);
  for (int y = 0; y < kHeight; ++y) {
    Row row = jpeg_row(plan, y);
    JSAMPROW pointer = row.data();
    jpeg_write_scanlines(&c, &pointer, 1);
  }
  jpeg_finish_compress(&c);
  jpeg_destroy_compress(&c);
  Buffer bytes(memory, memory + size);
  std::free(memory);
  return bytes;
}

/// Offset of the first `marker` segment (its 0xFF).
std::size_t find_marker(const Buffer& bytes, std::uint8_t marker) {
  std::size_t at = 2;
  while (bytes.at(at + 1) != marker)
    at += 2 + bytes.at(at + 2) * std::size_t{256} + bytes.at(at + 3);
  return at;
}

Buffer tiff_with_orientation(int orientation, bool big) {
  const auto number = [big](Buffer& to, unsigned value, int size) {
    for (int i = 0; i < size; ++i)
      to.push_back(scene::byte(static_cast<int>(value >> (8 * (big ? size - 1 - i : i))) & 255));
  };
  Buffer tiff = big ? Buffer{'M', 'M'} : Buffer{'I', 'I'};
  number(tiff, 42, 2);
  number(tiff, 8, 4);
  number(tiff, 2, 2);  // two entries: a width that is to be passed over, then the orientation
  for (const unsigned tag : {0x0100U, 0x0112U}) {
    number(tiff, tag, 2);
    number(tiff, 3, 2);
    number(tiff, 1, 4);
    number(tiff, tag == 0x0112U ? static_cast<unsigned>(orientation) : 99U, 2);
    number(tiff, 0, 2);
  }
  number(tiff, 0, 4);
  return tiff;
}

Buffer with_exif(const Buffer& jpeg_bytes, int orientation) {
  Buffer payload = {'E', 'x', 'i', 'f', 0, 0};
  const Buffer tiff = tiff_with_orientation(orientation, orientation % 2 == 0);
  payload.insert(payload.end(), tiff.begin(), tiff.end());
  const std::size_t length = payload.size() + 2;
  Buffer segment = {0xFF, 0xE1, scene::byte(static_cast<int>(length >> 8)),
                    scene::byte(static_cast<int>(length & 255))};
  segment.insert(segment.end(), payload.begin(), payload.end());
  Buffer result = jpeg_bytes;
  result.insert(result.begin() + 2, segment.begin(), segment.end());
  return result;
}

void make_jpegs() {
  const Buffer plain = jpeg({});
  save("jpeg_444.jpg", plain);
  save("jpeg_422.jpg", jpeg({.h = 2}));
  save("jpeg_440.jpg", jpeg({.v = 2}));
  save("jpeg_420.jpg", jpeg({.h = 2, .v = 2}));
  save("jpeg_411.jpg", jpeg({.h = 4}));
  save("jpeg_progressive.jpg", jpeg({.h = 2, .v = 2, .progressive = true}));
  save("jpeg_restart.jpg", jpeg({.restart_rows = 1}));
  save("jpeg_grey.jpg", jpeg({.in = JCS_GRAYSCALE}));
  save("jpeg_rgb.jpg", jpeg({.stored = JCS_RGB, .adobe_marker = true}));
  save("jpeg_cmyk_adobe.jpg",
       jpeg({.in = JCS_CMYK, .stored = JCS_CMYK, .adobe_marker = true, .invert = true}));
  save("jpeg_ycck_adobe.jpg",
       jpeg({.in = JCS_CMYK, .stored = JCS_YCCK, .adobe_marker = true, .invert = true}));
  save("jpeg_cmyk_plain.jpg", jpeg({.in = JCS_CMYK, .stored = JCS_CMYK}));
  for (int orientation = 1; orientation <= 8; ++orientation)
    save("jpeg_exif_" + std::to_string(orientation) + ".jpg", with_exif(plain, orientation));
  save("jpeg_exif_bad.jpg", with_exif(plain, 9));
  save("jpeg_arithmetic.jpg", jpeg({.arithmetic = true}));
  save("jpeg_many_scans.jpg", jpeg({.many_scans = true}));
  Buffer twelve = plain;
  const std::size_t frame = find_marker(plain, 0xC0);
  twelve[frame + 1] = 0xC1;
  twelve[frame + 4] = 12;
  save("jpeg_12bit.jpg", twelve);
  Buffer huge = plain;
  huge[frame + 5] = huge[frame + 7] = 0xFF;
  huge[frame + 6] = huge[frame + 8] = 0xDC;
  save("jpeg_huge.jpg", huge);
  save("jpeg_truncated.jpg", Buffer(plain.begin(), plain.end() - 60));
  const Buffer progressive = jpeg({.progressive = true});
  save("jpeg_truncated_progressive.jpg", Buffer(progressive.begin(), progressive.end() - 60));
  save("jpeg_no_end.jpg", Buffer(plain.begin(), plain.end() - 2));
  Buffer corrupt = jpeg({.restart_rows = 1});
  const std::size_t scan = find_marker(corrupt, 0xDA);
  // Twelve bytes fewer in the first interval: it ends before its last block.
  const auto hole = corrupt.begin() + static_cast<std::ptrdiff_t>(scan) + 24;
  corrupt.erase(hole, hole + 12);
  save("jpeg_corrupt.jpg", corrupt);
}

// --- PNG

struct PngPlan {
  int colour = PNG_COLOR_TYPE_RGB;
  int bits = 8;
  bool interlaced = false, transparent = false;
  int filters = PNG_NO_FILTERS;  // which the encoder may use; PNG_NO_FILTERS: its own choice
};

void put(Row& row, int bits, int value) {
  if (bits == 16) row.push_back(scene::byte(value >> 8));
  row.push_back(scene::byte(value & 255));
}

Row png_row(const PngPlan& plan, int y) {  // one byte per sample below 8 bits; packed by libpng
  Row row;
  for (int x = 0; x < kWidth; ++x) {
    if (plan.colour == PNG_COLOR_TYPE_PALETTE)
      row.push_back(scene::byte(scene::palette_index(x, y) & ((1 << plan.bits) - 1)));
    else if ((plan.colour & PNG_COLOR_MASK_COLOR) != 0)
      for (int c = 0; c < 3; ++c)
        put(row, plan.bits,
            plan.bits == 16 ? scene::rgb16(x, y, c)
                            : scene::rgb(x, y)[static_cast<std::size_t>(c)]);
    else if (plan.bits == 16)
      put(row, 16, scene::rgb16(x, y, 0));
    else
      row.push_back(
          scene::byte(plan.bits < 8 ? scene::few_levels(x, y, plan.bits) : scene::grey(x, y)));
    if ((plan.colour & PNG_COLOR_MASK_ALPHA) != 0) put(row, plan.bits, x * 9);
  }
  return row;
}

Buffer png(const PngPlan& plan) {
  Buffer bytes;
  png_structp p = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(p);
  png_set_write_fn(
      p, &bytes,
      [](png_structp self, png_bytep data, std::size_t size) {
        auto* to = static_cast<Buffer*>(png_get_io_ptr(self));
        to->insert(to->end(), data, data + size);
      },
      [](png_structp) {});
  png_set_IHDR(p, info, kWidth, kHeight, plan.bits, plan.colour,
               plan.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (plan.filters != PNG_NO_FILTERS) png_set_filter(p, PNG_FILTER_TYPE_BASE, plan.filters);
  if (plan.colour == PNG_COLOR_TYPE_PALETTE) {
    std::vector<png_color> colours;
    for (int i = 0; i < (1 << plan.bits) && i < 16; ++i)
      colours.push_back({scene::palette(i)[0], scene::palette(i)[1], scene::palette(i)[2]});
    png_set_PLTE(p, info, colours.data(), static_cast<int>(colours.size()));
  }
  if (plan.transparent) {
    png_byte alphas[3] = {0, 128, 255};
    png_color_16 key{};
    key.red = scene::rgb(3, 3)[0];
    key.green = scene::rgb(3, 3)[1];
    key.blue = scene::rgb(3, 3)[2];
    key.gray = scene::grey(3, 3);
    png_set_tRNS(p, info, alphas, plan.colour == PNG_COLOR_TYPE_PALETTE ? 3 : 0, &key);
  }
  png_write_info(p, info);
  if (plan.bits < 8) png_set_packing(p);
  const int passes = plan.interlaced ? png_set_interlace_handling(p) : 1;
  for (int pass = 0; pass < passes; ++pass)
    for (int y = 0; y < kHeight; ++y)
      png_write_row(p, png_row(plan, y).data());
  png_write_end(p, nullptr);
  png_destroy_write_struct(&p, &info);
  return bytes;
}

/// CRC-32 of a chunk's type and data, bit by bit.
std::uint32_t crc(const std::uint8_t* data, std::size_t size) {
  std::uint32_t value = 0xFFFFFFFF;
  for (std::size_t i = 0; i < size; ++i) {
    value ^= data[i];
    for (int bit = 0; bit < 8; ++bit)
      value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0U);
  }
  return ~value;
}

void put_u32(std::uint8_t* to, std::uint32_t value) {
  for (int i = 0; i < 4; ++i)
    to[i] = scene::byte(static_cast<int>(value >> (24 - 8 * i)) & 255);
}

Buffer png_with_exif(const Buffer& plain, int orientation) {
  const Buffer tiff = tiff_with_orientation(orientation, true);
  Buffer chunk(8);
  put_u32(chunk.data(), static_cast<std::uint32_t>(tiff.size()));
  std::memcpy(chunk.data() + 4, "eXIf", 4);
  chunk.insert(chunk.end(), tiff.begin(), tiff.end());
  chunk.resize(chunk.size() + 4);
  put_u32(chunk.data() + chunk.size() - 4, crc(chunk.data() + 4, tiff.size() + 4));
  Buffer result = plain;
  result.insert(result.begin() + 33, chunk.begin(), chunk.end());  // after the signature and IHDR
  return result;
}

void make_pngs() {
  const Buffer plain = png({});
  save("png_rgb.png", plain);
  save("png_rgba.png", png({.colour = PNG_COLOR_TYPE_RGBA}));
  save("png_grey.png", png({.colour = PNG_COLOR_TYPE_GRAY}));
  save("png_grey_alpha.png", png({.colour = PNG_COLOR_TYPE_GRAY_ALPHA}));
  for (const int bits : {1, 2, 4})
    save("png_grey" + std::to_string(bits) + ".png",
         png({.colour = PNG_COLOR_TYPE_GRAY, .bits = bits}));
  save("png_rgb16.png", png({.bits = 16}));
  save("png_grey16.png", png({.colour = PNG_COLOR_TYPE_GRAY, .bits = 16}));
  save("png_rgba16.png", png({.colour = PNG_COLOR_TYPE_RGBA, .bits = 16}));
  save("png_palette4.png", png({.colour = PNG_COLOR_TYPE_PALETTE, .bits = 4}));
  save("png_palette8.png", png({.colour = PNG_COLOR_TYPE_PALETTE}));
  save("png_palette_trns.png", png({.colour = PNG_COLOR_TYPE_PALETTE, .transparent = true}));
  save("png_rgb_trns.png", png({.transparent = true}));
  save("png_grey_trns.png", png({.colour = PNG_COLOR_TYPE_GRAY, .transparent = true}));
  save("png_interlaced.png", png({.interlaced = true}));
  save("png_interlaced_grey1.png",
       png({.colour = PNG_COLOR_TYPE_GRAY, .bits = 1, .interlaced = true}));
  save("png_filter_none.png", png({.filters = PNG_FILTER_NONE}));
  save("png_filter_sub.png", png({.filters = PNG_FILTER_SUB}));
  save("png_filter_up.png", png({.filters = PNG_FILTER_UP}));
  save("png_filter_average.png", png({.filters = PNG_FILTER_AVG}));
  save("png_filter_paeth.png", png({.filters = PNG_FILTER_PAETH}));
  save("png_exif_6.png", png_with_exif(plain, 6));
  save("png_truncated.png", Buffer(plain.begin(), plain.end() - 40));
  Buffer damaged = plain;
  damaged[plain.size() - 13] ^= 0x40;  // in the CRC of IDAT: before the 12 bytes of IEND
  save("png_crc.png", damaged);
  Buffer huge = plain;
  put_u32(huge.data() + 16, 60'000);
  put_u32(huge.data() + 20, 60'000);
  put_u32(huge.data() + 29, crc(huge.data() + 12, 17));
  save("png_huge.png", huge);
  save("png_named.jpg", plain);
}

// --- WebP

void make_webps() {
  using scene::extended_webp, scene::riff_chunk, scene::webp;
  const Buffer lossy = webp(false, false);
  const Buffer lossless = webp(true, false);
  save("webp_lossy.webp", lossy);
  save("webp_lossless.webp", lossless);
  save("webp_alpha.webp", webp(true, true));
  const Buffer image(lossless.begin() + 12, lossless.end());  // without the RIFF header
  save("webp_exif_6.webp",
       extended_webp(0x08, {image, riff_chunk("EXIF", tiff_with_orientation(6, false))}));
  Buffer frame = {0, 0, 0, 0, 0, 0, kWidth - 1, 0, 0, kHeight - 1, 0, 0, 100, 0, 0, 0};
  frame.insert(frame.end(), image.begin(), image.end());
  save("webp_animation.webp",
       extended_webp(0x02, {riff_chunk("ANIM", {0, 0, 0, 0, 0, 0}), riff_chunk("ANMF", frame)}));
  save("webp_truncated.webp", Buffer(lossy.begin(), lossy.end() - 60));
  Buffer corrupt = lossless;
  for (std::size_t i = 30; i < 60; ++i)
    corrupt[i] = 0xFF;
  save("webp_corrupt.webp", corrupt);
  Buffer huge = lossless;
  huge[21] = huge[22] = huge[23] = 0xFF;  // 14 bits each of width - 1 and height - 1
  huge[24] |= 0x0F;
  save("webp_huge.webp", huge);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: image_make_corpus FOLDER\n");
    return 2;
  }
  folder = argv[1];
  std::filesystem::create_directories(folder);
  make_jpegs();
  make_pngs();
  make_webps();
  save("empty.jpg", {});
  save("text.jpg", {'h', 'e', 'l', 'l', 'o', '\n'});
  save("gif.png", {'G', 'I', 'F', '8', '9', 'a', 1, 0, 1, 0, 0, 0, 0, ';'});
  return 0;
}
