//! Words that names are made of. Common words come first, since they are drawn more often.

/// English and technical words.
pub(crate) const WORDS: &str = "
data test main config utils model base core input output run index util table file type list node
result image string value state parse event server client request user object error handler view
field time mesh log map query buffer stream stats plot grid step job cache batch driver source
layer array format options filter render color module widget queue task graph tree block page size
solver matrix vector kernel particle energy pressure density velocity flux field boundary domain
simulation analysis report summary notes figure draft final backup archive sample train valid label
feature metric score loss epoch weight gradient tensor tokenizer vocab embedding attention encoder
decoder dataset loader pipeline schema record column row key hash lock thread process signal timer
socket packet session token auth login account profile admin panel menu button dialog icon theme
style script template layout header footer sidebar content article comment message mail contact
search result order payment invoice product price stock customer supplier shipping region country
city street station sensor device bridge channel router switch gateway proxy mirror replica cluster
shard partition segment snapshot journal ledger commit branch merge patch release version build
install package bundle library plugin extension adapter wrapper factory builder visitor observer
iterator cursor range slice chunk frame window screen display monitor camera lens pixel texture
shader light shadow scene actor sprite sound audio video codec stream track album playlist artist
genome protein sequence alignment variant allele transcript exon intron cell tissue organ species
sample plate well assay reagent buffer control treatment dose response trial cohort patient visit
ocean atmosphere climate weather rain cloud wind storm wave tide current salinity temperature
humidity ice snow glacier river lake basin soil crop forest carbon nitrogen oxygen aerosol ozone
galaxy star planet orbit comet asteroid telescope spectrum photon neutrino collider detector muon
lattice crystal phonon electron proton neutron spin charge plasma laser optics cavity resonance
turbulence vortex shear stress strain fracture elastic plastic alloy steel copper silicon polymer
budget forecast quarter annual monthly weekly daily meeting agenda minutes protocol proposal grant
thesis chapter appendix abstract introduction method discussion conclusion reference bibliography
lecture seminar exercise solution homework exam course student teacher group project team member
schedule travel hotel flight receipt contract license agreement policy manual guide tutorial faq
legacy old new tmp misc common shared public private local global default custom extra special
alpha beta gamma delta epsilon sigma omega north south east west upper lower left right inner outer
red green blue black white gray silver gold orange violet spring summer autumn winter january march
june august october december monday friday weekend holiday nested random linear sparse dense
adaptive hybrid parallel serial async batchwise recursive iterative implicit explicit spectral
finite volume element difference quadrature interpolation regression classifier cluster bootstrap
posterior prior likelihood sampler chain monte bayes kalman fourier wavelet laplace poisson euler
newton krylov jacobi multigrid precondition eigen singular residual tolerance convergence
";

/// Words in other scripts and with accents.
pub(crate) const FOREIGN: &[&str] = &[
    "Übersicht",
    "Größen",
    "Prüfung",
    "Änderung",
    "données",
    "résumé",
    "café",
    "señal",
    "año",
    "naïve",
    "Øresund",
    "smörgås",
    "žurnál",
    "отчёт",
    "данные",
    "Москва",
    "報告",
    "数据",
    "东京",
    "プロジェクト",
    "보고서",
    "αβγ",
    "שלום",
    "تقرير",
    "📷",
];

/// Surnames; a person's login is an initial and one of these.
pub(crate) const SURNAMES: &str = "
smith mueller johnson garcia schmidt williams martin brown rossi silva jones dubois miller fischer
davis lopez wilson weber anderson novak thomas meyer taylor wagner moore becker jackson schulz lee
hoffmann harris koch clark bauer lewis richter walker klein hall wolf young schroeder king neumann
wright schwarz scott zimmermann green braun adams hofmann baker krueger nelson hartmann hill lange
campbell schmitt mitchell werner roberts krause carter meier phillips lehmann evans koehler turner
huber parker kaiser collins fuchs edwards peters stewart lang morris scholz murphy moeller cook
weiss rogers jung morgan hahn peterson vogel cooper friedrich reed keller bailey guenther bell frank
gomez berger kelly winkler howard roth ward beck cox lorenz diaz baumann richardson franke wood
";

/// Software that computing centres install.
pub(crate) const PACKAGES: &str = "
gcc openmpi python hdf5 netcdf fftw openblas cmake llvm boost petsc paraview R julia cuda
intel-oneapi anaconda gromacs lammps quantum-espresso vasp namd openfoam amber cp2k octave matlab
perl ruby nodejs golang rust java samtools bcftools bwa bowtie2 gatk blast trimmomatic fastqc star
salmon kallisto pytorch tensorflow jax opencv gdal proj geos grass qgis vtk visit ncview cdo nco
ferret wrf mpich mvapich2 ucx libfabric pmix slurm singularity apptainer spack git mercurial vim
emacs tmux valgrind gdb ddt totalview scalasca tau papi hwloc numactl eigen armadillo superlu mumps
hypre scotch metis parmetis trilinos sundials slepc dealii fenics gmsh netgen tetgen blender povray
imagemagick ffmpeg ghostscript texlive pandoc doxygen graphviz gnuplot grace xmgrace molden vmd pymol
";

/// Rare names that careless programs fail on.
pub(crate) const ODD: &[&[u8]] = &[
    b"new\nline.txt",
    b"-rf",
    b" leading blank",
    b"trailing blank ",
    b"tab\there.csv",
    b"caf\xe9.txt",
    b"\xff\xfe\xfd",
    b"it's \"quoted\"",
    b"*",
    b"$(id)",
    b"back\\slash",
    b"[brackets]?",
    b"\x1b[31mred\x1b[0m",
    b"bell\x07",
    b"~",
    b"#autosave#",
    b"core dump; rm",
    b"...",
];
