// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC3009, IERC3009Cancel} from "@openzeppelin/contracts/interfaces/draft-IERC3009.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";

import {IERC3009Wallet} from "../../src/IERC3009Wallet.sol";
import {Test} from "../Test.sol";

/// @notice The functions of the real USDC that these tests call.
interface IFiatToken is IERC20, IERC20Permit, IERC3009, IERC3009Cancel, IERC3009Wallet {
    function initialize(
        string calldata name,
        string calldata symbol,
        string calldata currency,
        uint8 decimals,
        address masterMinter,
        address pauser,
        address blacklister,
        address owner
    ) external;
    function initializeV2(string calldata name) external;
    function initializeV2_1(address lostAndFound) external;
    function initializeV2_2(address[] calldata accountsToBlacklist, string calldata symbol) external;
    function configureMinter(address minter, uint256 allowance) external returns (bool);
    function mint(address to, uint256 amount) external returns (bool);
    function blacklist(address account) external;
    function changeAdmin(address newAdmin) external;
    function name() external view returns (string memory);
    function version() external view returns (string memory);
}

/// @notice Deploys Circle's FiatToken 2.2 behind its proxy, from the artifacts that local chains deploy.
/// @dev The inheriting contract is the token's minter and blacklister.
abstract contract WithFiatToken is Test {
    address private constant _CREATE2_DEPLOYER = 0x4e59b44847b379578588920cA78FbF26c0B4956C;

    function _newFiatToken() internal returns (IFiatToken fiat) {
        // For a second token the library exists already, and the deployer refuses to deploy it again.
        bytes memory library_ = bytes.concat(bytes32(0), _bytecode("SignatureChecker"));
        (bool deployed,) = _CREATE2_DEPLOYER.call(library_);
        deployed;
        address implementation = _create(_bytecode("FiatTokenV2_2"));
        fiat = IFiatToken(_create(bytes.concat(_bytecode("FiatTokenProxy"), abi.encode(implementation))));
        fiat.changeAdmin(named("admin of the proxy"));

        fiat.initialize("", "", "USD", 6, address(this), address(this), address(this), address(this));
        fiat.initializeV2("USD Coin");
        fiat.initializeV2_1(address(this));
        fiat.initializeV2_2(new address[](0), "USDC");
        fiat.configureMinter(address(this), type(uint256).max);
    }

    function _bytecode(string memory contractName) private view returns (bytes memory) {
        string memory artifact = vm.readFile(string.concat("artifacts/", contractName, ".json"));
        return vm.parseJsonBytes(artifact, ".bytecode");
    }

    function _create(bytes memory initCode) private returns (address created) {
        assembly {
            created := create(0, add(initCode, 32), mload(initCode))
        }
        assertTrue(created != address(0), "deployed");
    }
}
